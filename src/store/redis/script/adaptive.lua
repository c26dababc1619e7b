-- adaptive.h, for Redis; see common.lua.
--
-- A state is that of the active algorithm, and two more numbers: the switch that chose the
-- algorithm, and when the latest lease of counts ends. The greatest switch decides: the state's
-- algorithm decides a caller that comes with an older switch, and a newer switch carries the state
-- over first.
--
-- A lease that is out was charged, and counts as spent until it ends. Counts keep it in the current
-- window, which it does not outlive; a bucket charges it as of its end. So counts that become a
-- bucket also owe the rest of the latest lease. For a long lease that is much: such counts become a
-- bucket only when little of the lease is left.
local function make_adaptive(makers)
  local SLIDING, BUCKET, IN_BACKOFF = 16, 17, 18  -- the algorithm that a charge names
  local FORMATS = {[SLIDING] = '<I1I4i8i8i8i8', [BUCKET] = '<I1I4i8i8i8',
                   [IN_BACKOFF] = '<I1I4i8i8i8i8i8'}
  local TAGS = {[SLIDING] = 115, [BUCKET] = 116, [IN_BACKOFF] = 98}
  local KINDS = {[37] = SLIDING, [29] = BUCKET, [45] = IN_BACKOFF}  -- by a state's size
  local INNER = {[SLIDING] = 2, [BUCKET] = 3, [IN_BACKOFF] = IN_BACKOFF}  -- of `makers`
  local floor, max, min = math.floor, math.max, math.min
  local pack, unpack_from = struct.pack, struct.unpack
  local CHARGE, SWITCH_AT = '<I1I2i8i8i8i8i8', 43  -- as in decide.lua
  local charges = ARGV[2]
  local numbers, lease_ends = {}, {}  -- by the key's number
  local made = {}

  local function note_lease(k, ends) lease_ends[k] = max(lease_ends[k], ends) end

  local function make_algorithm(kind)
    local inner, format, tag = makers[INNER[kind]](makers), FORMATS[kind], TAGS[kind]
    made[kind] = {
      kind = kind, step = inner.step, expiry = inner.expiry, charge = inner.charge,
      copied = inner.copied, deny = inner.deny, more = inner.more, hold = inner.hold, inner = inner,
      write = function(a, b, c, d, k)
        return pack(format, tag, numbers[k], lease_ends[k], a, b, c, d)
      end,
      -- Redis must see each request.
      is_unleased = kind == IN_BACKOFF,
      -- Long leases of counts are for callers that want no bucket either. A bucket that becomes
      -- counts would have to remember what long leases hold.
      long_for = kind == SLIDING and SLIDING or 0,
      note_lease = note_lease,
      -- For a node's copy: the switch, and the algorithm that it chose.
      tag_of = function(k) return numbers[k] * 4 + kind - SLIDING end,
    }
    return made[kind]
  end
  local function algorithm_for(kind) return made[kind] or make_algorithm(kind) end

  -- Makes the function for a charge with a newer switch.
  local function make_follow()
    local DENIED = 1

    -- Two counts that hold u units at `at`: in the current window at least `current`, and in the
    -- fading one as many as fit.
    local function counts_of(u, current, at, limit, window)
      local start = at - at % window
      local left = start + window - at
      local previous = limit
      if (u - current) * window / left < 2 * limit then
        previous = min(limit, (mul_div(u - current, window, 0, left)))
      end
      local weight, rest = mul_div(previous, left, 0, window)
      return start, previous, u - weight - (rest > 0 and 1 or 0), 0
    end

    -- A full bucket takes a window to fill.
    local function counts_of_bucket(a, b, limit, window, per_unit, per_us)
      if limit == 0 then return 0, 0, 0, 0 end
      local debt, ticks, at = a - now, min(b, per_us - 1), now
      if debt < 0 then debt, ticks = 0, 0 end
      local over, over_ticks = mul_div(1, per_unit, 0, per_us)
      over = over + window
      if debt > 2 * window or (debt == 2 * window and ticks > 0) then
        debt, ticks = window, 0
      elseif debt > over or (debt == over and ticks > over_ticks) then
        at = now + debt - over + (ticks > over_ticks and 1 or 0)
        debt, ticks = over, over_ticks
      end
      local u, rest = mul_div(debt, per_us, ticks, per_unit)
      return counts_of(rest > 0 and u + 1 or u, 0, at, limit, window)
    end

    local function bucket_of_counts(u, lease_end, limit, window, per_unit, per_us)
      local debt, ticks = mul_div(min(u, 2 * limit), per_unit, 0, per_us)
      local late = max(0, lease_end - now)
      return now + (late > 0 and min(debt + late, 2 * window) or debt), ticks, 0, 0
    end

    local function carry(k, from, to, a, b, c, d, limit, window, per_unit, per_us)
      if from == BUCKET and to ~= BUCKET then
        return counts_of_bucket(a, b, limit, window, per_unit, per_us)
      elseif from == to or to == IN_BACKOFF or (d == 0 and to == SLIDING) then
        return a, b, c, d
      end
      local not_left = algorithm_for(IN_BACKOFF).inner.not_left
      local u, held, start, previous, current = not_left(a, b, c, d, limit, window)
      if to == BUCKET then
        return bucket_of_counts(u, lease_ends[k], limit, window, per_unit, per_us)
      elseif u == held then
        return start, previous, current, 0
      end
      return counts_of(u, current, max(now, start), limit, window)
    end

    -- Whether the key has to wait with its next algorithm. No lease of counts ends later than the
    -- next window.
    local function is_held_back(k, from, to, window)
      if from == BUCKET or to ~= BUCKET then return false end
      lease_ends[k] = min(lease_ends[k], now + window)
      return lease_ends[k] > now + min(1000000, floor(window / 16))
    end

    -- The algorithm, but a denial stores the state, which was carried over just now.
    local function storing(algorithm)
      local copy = {}
      for name, part in pairs(algorithm) do copy[name] = part end
      function copy.step(a, b, c, d, cost, ...)
        local verdict, remaining, reset, retry, level, changed, next_a, next_b, next_c, next_d =
            algorithm.step(a, b, c, d, cost, ...)
        if cost > 0 and verdict == DENIED and not changed then
          return verdict, remaining, reset, retry, level, true, a, b, c, d
        end
        return verdict, remaining, reset, retry, level, changed, next_a, next_b, next_c, next_d
      end
      return copy
    end

    -- Returns the algorithm that decides then, and its state.
    return function(k, algorithm, a, b, c, d, number, position)
      local kind, _, _, limit, window, per_unit, per_us = unpack_from(CHARGE, charges, position)
      local from = algorithm.kind
      if is_held_back(k, from, kind, window) then return algorithm, a, b, c, d end
      a, b, c, d = carry(k, from, kind, a, b, c, d, limit, window, per_unit, per_us)
      if kind == BUCKET then lease_ends[k] = 0 end
      numbers[k] = number
      return storing(algorithm_for(kind)), a, b, c, d
    end
  end
  local follow

  -- The algorithm and its state; nil if the bytes are no such state.
  local function read(k, bytes)
    local kind = KINDS[#bytes]
    if not kind then return end
    local tag, number, lease_end, a, b, c, d = unpack_from(FORMATS[kind], bytes)
    if kind == SLIDING then
      d = 0
    elseif kind == BUCKET then
      c, d = 0, 0
    elseif d % 16 > 9 or d % 256 > 95 then
      return
    end
    numbers[k], lease_ends[k] = number, lease_end
    return algorithm_for(kind), checked(tag == TAGS[kind], a, b, c, d)
  end

  return {
    -- The algorithm of a new key, which follows every caller.
    begin = function(k, position)
      numbers[k], lease_ends[k] = unpack_from('<I4', charges, position + SWITCH_AT), 0
      return algorithm_for(string.byte(charges, position))
    end,
    -- The algorithm and state that decide the charge; nil if the key has no state of ours.
    load = function(k, position, bytes, algorithm, a, b, c, d)
      if not a then algorithm, a, b, c, d = read(k, bytes) end
      if not a or not algorithm.kind then return end
      local number = unpack_from('<I4', charges, position + SWITCH_AT)
      if number <= numbers[k] then return algorithm, a, b, c, d end
      follow = follow or make_follow()
      return follow(k, algorithm, a, b, c, d, number, position)
    end,
  }
end
