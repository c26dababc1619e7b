-- Held units of keys: weir/holding_store.h for Redis; see common.lua.
--
-- A key's holds are in a sorted set, KEY:holds, in the same slot of a cluster. Each hold is a
-- member: its token of 16 bytes, the units it holds, the units that a lapse charges, and its charge
-- as the caller packed it. Its score is its end, which no other hold of the key has. One more
-- member, the first of all, has the sum in its score: -1 - units.
--
-- A batch that counts holds has HOLDS added to its operation. Keys without holds are decided as
-- without HOLDS. A hold that has ended is charged as of its end, before anything else is decided.
local function make_holds(of)
  local ALLOWED, DENIED, FAILED, FOREIGN_TYPE = 0, 1, 3, 1
  local SPEND_EACH, SPEND_ALL, LOOK, CHARGE_EACH, DRAIN_EACH, RESERVE, COMMIT = 0, 1, 2, 4, 5, 9, 10
  local LOOK_AT_HOLDS = 11
  local HOLDS, CHARGE_SIZE, SUM, LAPSES_MAX, WAITS_MAX = 16, 47, 'sum', 256, 8
  local SLACK = 1000000  -- us, as clocks differ in pace
  local FIXED, LOG, SLIDING, BUCKET, CALENDAR, HAS_MORE = 0, 1, 2, 3, 15, 32
  local TERMS_SIZES = {[RESERVE] = 48, [COMMIT] = 56}
  local floor, max, min = math.floor, math.max, math.min
  local pack, unpack_from, sub = struct.pack, struct.unpack, string.sub
  local batches, reply, look, tell, put = ARGV[2], of.reply, of.look, of.tell, of.put
  local units, first_end, last_end = {}, {}, {}  -- by the key's number

  local function name_of(k) return KEYS[k] .. ':holds' end
  local function text_of(number) return string.format('%.0f', number) end

  local function holds_at(k, from, to)
    local found = redis.call('ZRANGE', name_of(k), from, to, 'WITHSCORES')
    return found[1], tonumber(found[2])
  end

  -- Keeps the sum, and asks which holds are the first and the last now.
  local function write_sum(k, sum)
    redis.call('ZADD', name_of(k), text_of(-1 - sum), SUM)
    local first, ends = holds_at(k, 1, 1)
    if not first then
      redis.call('ZREMRANGEBYSCORE', name_of(k), '-inf', '+inf')
      units[k] = 0
      return
    end
    units[k], first_end[k] = sum, ends
    last_end[k] = select(2, holds_at(k, -1, -1))
  end

  local function charge(k, member, cost, as_of)
    if cost == 0 then return end
    return of.charge_as(sub(member, 33, 33) .. pack('<I2i8', k, cost) .. sub(member, 44), k, as_of)
  end

  -- Reads the key's holds. Returns what is wrong, or nil.
  local function load(k)
    if units[k] then return end
    local found = redis.pcall('ZRANGE', name_of(k), 0, 1, 'WITHSCORES')
    if found.err then return FOREIGN_TYPE end
    units[k] = 0
    if #found < 4 then return end
    local sum, member, ends = -1 - tonumber(found[2]), found[3], tonumber(found[4])
    for _ = 1, LAPSES_MAX do
      if not member or ends > now then break end
      local held, due = unpack_from('<i8i8', member, 17)
      charge(k, member, due, ends)
      redis.call('ZREMRANGEBYSCORE', name_of(k), text_of(ends), text_of(ends))
      sum = sum - held
      member, ends = holds_at(k, 1, 1)
    end
    write_sum(k, sum)
  end

  -- When a key that has used `used` units at `time` has surely got `back` of them back.
  local function refilled(at, back, used, time)
    local kind, _, _, _, window, per_unit, per_us, seconds =
        unpack_from('<I1I2i8i8i8i8i8I4', batches, at)
    if kind == CALENDAR then
      if time < per_unit then return per_unit end
      return time < per_us and per_us or time + 1000000 * seconds
    end
    if kind == LOG then return time + window end
    local ends = time - time % window + window
    if kind == FIXED or kind ~= BUCKET and used == 0 then return ends end
    local wait, rest
    if kind == BUCKET then
      wait, rest = mul_div(back, per_unit, 0, per_us)
    else
      wait, rest = mul_div(back, window, 0, used)
    end
    return (kind == BUCKET and time or ends) + wait + (rest > 0 and 1 or 0)
  end

  -- Until the charge fits if all holds lapse, at least one microsecond; a commit may make room
  -- sooner. Never too early: it counts the units used by now as if a lapse charged them, too.
  local function wait_of(at, k, cost, limit)
    local kind, _, _, _, window, per_unit, per_us = unpack_from('<I1I2i8i8i8i8i8', batches, at)
    -- Quota::debt_max
    local owed = limit + (kind == BUCKET and floor(window * per_us / per_unit + 0.5) or limit)
    local function fits_at(wanted, due, from)
      if wanted + due <= limit then
        local _, _, _, wait = look(at, wanted + due)
        return max(from, now + wait)
      end
      local verdict, left = look(at, 0)
      local used = min(owed, (verdict == ALLOWED and limit - left or owed) + due)
      return refilled(at, used + wanted - limit, used, from)
    end
    local from, held, due, best = now, units[k], 0, 2 ^ 53
    for lapses = 0, WAITS_MAX do
      local wanted = cost + held
      if wanted <= limit then best = min(best, fits_at(wanted, due, from)) end
      local member, ends = holds_at(k, lapses + 1, lapses + 1)
      if not member or best <= ends then break end
      if lapses == WAITS_MAX then
        best = min(best, fits_at(cost, owed, last_end[k]))
      else
        local of_hold, due_then = unpack_from('<i8i8', member, 17)
        from, held, due = ends, held - of_hold, due + due_then
      end
    end
    return max(1, best - now)
  end

  -- Until the last lapse no longer counts; it may charge the whole limit.
  local function until_as_new(at, k, limit, reset)
    return max(reset, refilled(at, limit, limit, last_end[k]) - now)
  end

  -- The denial of a charge that fits, but not together with held units and those wanted `before`.
  local function denied(at, before)
    local _, k, cost, limit = unpack_from('<I1I2i8i8', batches, at)
    if units[k] == 0 or cost <= 0 then return end
    local verdict, left, reset = look(at)
    left = left - units[k] - (before or 0)
    if verdict ~= ALLOWED or left >= cost then return end
    local wait = wait_of(at, k, min(limit, cost + (before or 0)), limit)
    return DENIED, max(0, left), until_as_new(at, k, limit, reset), wait, 0, wait
  end

  -- Changes the decisions of charges, from the reply's number `from` on: they leave held units, and
  -- last until those end. A counter that holds nothing itself has more when a hold has lapsed.
  local function lower(from, first, count, operation)
    local is_charge = operation == CHARGE_EACH  -- whose decision is that of a look
    for at = first, first + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do
      local kind, k, cost, limit = unpack_from('<I1I2i8i8', batches, at)
      local code = reply[from]
      if units[k] > 0 then
        if (operation <= LOOK or is_charge) and code % 4 == DENIED then
          reply[from + 2] = max(reply[from + 2], wait_of(at, k, is_charge and 0 or cost, limit))
        end
        reply[from] = code - 64 * min(floor(code / 64), units[k])
        reply[from + 1] = until_as_new(at, k, limit, reply[from + 1])
        local is_told = kind ~= LOG and kind ~= SLIDING or floor(code / HAS_MORE) % 2 == 1
        if count == 1 and code % 4 == ALLOWED and not is_told then
          put(wait_of(at, k, floor(reply[from] / 64) + 1, limit))
          reply[from] = reply[from] + HAS_MORE
        end
      end
      from = from + 2 + (code % 4 == DENIED and 1 or 0) + floor(code / HAS_MORE) % 2
    end
  end

  local function act(operation, first, count)
    local from = #reply + 1
    of.action_of(operation)(first, count)
    lower(from, first, count, operation)
  end

  -- Answers with the denial, if there is one; else does the operation with the charge.
  local function deny_or(operation, denial, at)
    if denial[1] then return tell(unpack(denial)) end
    act(operation, at, 1)
  end

  -- If the charge does not fit next to held units, charges the rest.
  local function drain(at)
    local _, k, cost, limit = unpack_from('<I1I2i8i8', batches, at)
    local verdict, left, reset = look(at)
    left = max(0, left - units[k])
    if units[k] == 0 or cost <= left then return act(DRAIN_EACH, at, 1) end
    if left > 0 then of.spend(at, left) end
    local wait = wait_of(at, k, cost, limit)
    tell(max(DENIED, verdict), 0, until_as_new(at, k, limit, reset), wait, 0, wait)
  end

  local function decide_all(first, count)
    local before, is_denied, told = {}, false, {}
    for index = 1, count do
      local at = first + (index - 1) * CHARGE_SIZE
      local _, k, cost = unpack_from('<I1I2i8', batches, at)
      told[index] = {denied(at, before[k])}
      is_denied = is_denied or told[index][1] ~= nil
      before[k] = (before[k] or 0) + max(0, cost)
    end
    if not is_denied then return act(SPEND_ALL, first, count) end
    for index = 1, count do
      deny_or(LOOK, told[index], first + (index - 1) * CHARGE_SIZE)
    end
  end

  local function decide(operation, first, count)
    if operation == SPEND_ALL and count > 1 then return decide_all(first, count) end
    if operation == SPEND_ALL then operation = SPEND_EACH end
    local may_deny = operation == SPEND_EACH or operation == LOOK
    for at = first, first + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do
      local denial = may_deny and {denied(at)} or {}
      if operation == DRAIN_EACH then
        drain(at)
      else
        deny_or(operation, denial, at)
      end
    end
  end

  -- ---- holds ----

  local function put_down(k, ends, member)
    redis.call('ZADD', name_of(k), text_of(ends), member)
    write_sum(k, units[k] + unpack_from('<i8', member, 17))
  end

  -- When the last hold ends, its charge counts for two windows; in a bucket, until that is full.
  local function keep_until_charged(at, k)
    local kind, _, _, limit, window, per_unit, per_us, seconds =
        unpack_from('<I1I2i8i8i8i8i8I4', batches, at)
    local length = kind == CALENDAR and 2000000 * seconds or 2 * window
    if kind == BUCKET then length = window + 2 * limit * per_unit / per_us end
    local left_ms = floor((last_end[k] - now + length) / 1000) + 1
    redis.call('PEXPIRE', name_of(k), text_of(left_ms + (ARGV[1] == '' and 0 or 4503599627370)))
  end

  local function has_room(k, holds_max)
    return units[k] == 0 or redis.call('ZCARD', name_of(k)) - 1 < holds_max
  end

  -- An end that no hold has yet. Holds of one call have one instant, so each looks behind the one
  -- before.
  local next_ends = {}  -- by the end that was asked for
  local function free_end(first, count, asked)
    local ends = next_ends[asked] or asked
    for at = first, first + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do
      local _, k = unpack_from('<I1I2', batches, at)
      while redis.call('ZRANGE', name_of(k), text_of(ends), text_of(ends), 'BYSCORE')[1] do
        ends = ends + 1
      end
    end
    next_ends[asked] = ends + 1
    return ends
  end

  -- Holds the costs if all fit and there is room, or whether or not they fit.
  local function reserve(first, count, terms)
    local id = sub(batches, terms, terms + 15)
    local length, holds_max, due, always = unpack_from('<i8i8i8i8', batches, terms + 16)
    local fits, is_room = true, true
    for at = first, first + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do
      local _, k = unpack_from('<I1I2', batches, at)
      fits = fits and look(at) == ALLOWED and not denied(at)
      is_room = is_room and has_room(k, holds_max)
    end
    local status = (not fits and always == 0) and 0 or is_room and 1 or 2
    local ends = status == 1 and free_end(first, count, now + length) or 0
    local wait = 0
    for at = first, first + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do
      local _, k, cost = unpack_from('<I1I2i8', batches, at)
      local denial = {denied(at)}
      if status == 2 and not has_room(k, holds_max) then wait = max(wait, first_end[k] - now) end
      if status == 1 then
        put_down(k, ends, id .. pack('<i8i8', cost, due) .. sub(batches, at, at + CHARGE_SIZE - 1))
        keep_until_charged(at, k)
      end
      deny_or(LOOK, denial, at)
    end
    put(status * 4)
    put(status == 2 and wait or ends)
  end

  -- Looks, and tells for each key the units held, by how many holds, and until the first lapses.
  local function look_at_holds(first, count)
    decide(LOOK, first, count)
    for at = first, first + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do
      local _, k = unpack_from('<I1I2', batches, at)
      local has_any = units[k] > 0
      put(units[k])
      put(has_any and redis.call('ZCARD', name_of(k)) - 1 or 0)
      put(has_any and max(0, first_end[k] - now) or 0)
    end
  end

  -- The hold, and its end as text. Nobody was told the end of a hold with a length: it was asked
  -- for `age` ago, by a node's clock, and made since.
  local function find(k, id, ends, length, age)
    local low, high = text_of(ends), text_of(ends)
    if length > 0 then
      low, high = text_of(now + length - age - SLACK), text_of(now + length + SLACK)
    end
    local found = redis.call('ZRANGE', name_of(k), low, high, 'BYSCORE', 'WITHSCORES')
    for i = 1, #found, 2 do
      if sub(found[i], 1, 16) == id then return found[i], text_of(tonumber(found[i + 1])) end
    end
  end

  -- The work has cost `cost`; so far, if it goes on. Returns what is wrong, or nil.
  local function commit(k, id, ends, cost, goes_on, length, age)
    local member, score = find(k, id, ends, length, age)
    if not member then return end
    local held = unpack_from('<i8', member, 17)
    local failure = goes_on == 0 and charge(k, member, cost, now)
    if failure then return failure end
    redis.call('ZREMRANGEBYSCORE', name_of(k), score, score)
    if goes_on == 0 then
      write_sum(k, units[k] - held)
    else
      units[k] = units[k] - held
      put_down(k, ends, id .. pack('<i8i8', max(held, cost), cost) .. sub(member, 33))
    end
    return 0
  end

  local function commit_all(first, count, terms)
    local CHARGED, NOTED, UNKNOWN = 0, 1, 2
    local id = sub(batches, terms, terms + 15)
    local ends, cost, goes_on, length, age = unpack_from('<i8i8i8i8i8', batches, terms + 16)
    local status = UNKNOWN
    for at = first, first + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do
      local _, k = unpack_from('<I1I2', batches, at)
      local failure = commit(k, id, ends, cost, goes_on, length, age)
      if failure and failure > 0 then return put(failure * 4 + FAILED) end
      if failure then status = goes_on == 0 and CHARGED or NOTED end
    end
    put(status * 4)
  end

  -- Returns where the next batch begins.
  return function(operation, count, terms)
    local first = terms + (TERMS_SIZES[operation] or 0)
    local plain = operation < HOLDS and LOOK or operation - HOLDS
    local failure = operation ~= COMMIT and of.load_batch(plain, first, count)
    for at = first, first + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do
      local _, k = unpack_from('<I1I2', batches, at)
      failure = failure or load(k)
    end
    if failure then
      put(failure * 4 + FAILED)
    elseif operation == RESERVE then
      reserve(first, count, terms)
    elseif operation == COMMIT then
      commit_all(first, count, terms)
    elseif operation == LOOK_AT_HOLDS then
      look_at_holds(first, count)
    else
      decide(plain, first, count)
    end
    return first + count * CHARGE_SIZE
  end
end
