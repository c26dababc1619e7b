-- token_bucket.h, for Redis; see common.lua.
--
-- a + b / per_us microseconds: when the bucket is full again. An amount is microseconds and
-- ticks of 1 / per_us; a unit is per_unit ticks. A charge is entered as of now + late.
-- c, d: what is held.
local function make_token_bucket()
  local ALLOWED, DENIED, NEVER = 0, 1, 2
  local floor, max, min = math.floor, math.max, math.min
  local pack, unpack_from = struct.pack, struct.unpack
  -- The units left of a bucket, full at (full_us, full_ticks), under a debt.
  local function remaining_of(full_us, full_ticks, us, ticks, per_unit, per_us)
    us, ticks = full_us - us, full_ticks - ticks
    if ticks < 0 then us, ticks = us - 1, ticks + per_us end
    if us < 0 then return 0 end
    return (mul_div(us, per_us, ticks, per_unit))
  end

  -- Units that long leases hold of a bucket: those granted in the epoch that ends at c, and those
  -- of the epoch before, in one number d. A long lease lasts an epoch at most. So all grants of one
  -- epoch are over when the next one ends, if they were not settled. Long leases hold an eighth of
  -- the bucket at most.
  local HELD_MAX, HELD_PART = 67108864, 8

  -- The epoch's end, its units, and the units of the epoch before.
  local function held_now(c, d, window)
    local epoch = epoch_of(window)
    if d == 0 or now >= c + epoch then return now + epoch, 0, 0 end
    local newer = d % HELD_MAX
    local older = (d - newer) / HELD_MAX
    if now >= c then return c + epoch, 0, newer end
    return min(c, now + epoch), newer, older
  end

  -- Full at (a, b), or later if so many units were spent `at` then.
  local function owing(a, b, at, units, per_unit, per_us)
    local us, ticks = mul_div(units, per_unit, 0, per_us)
    if a > at + us or (a == at + us and b >= ticks) then return a, b, us end
    return at + us, ticks, us
  end

  -- When the bucket is full again, ticks, and microseconds of held units. Held units may be spent
  -- at any time, so the bucket is never fuller than without them. When an epoch is over, units that
  -- nobody holds any more were spent by then.
  local function full_but_for_held(a, b, c, d, window, per_unit, per_us)
    local _, newer, older = held_now(c, d, window)
    local epoch, last = epoch_of(window), d % HELD_MAX
    if now >= c then a, b = owing(a, b, c, last + (d - last) / HELD_MAX, per_unit, per_us) end
    if now >= c + epoch then a, b = owing(a, b, c + epoch, last, per_unit, per_us) end
    return owing(a, b, now, newer + older, per_unit, per_us)
  end

  local function step(a, b, c, d, cost, limit, window, per_unit, per_us, late)
    if d > 0 then
      local held
      a, b, held = full_but_for_held(a, b, c, d, window, per_unit, per_us)
      if late > 0 then late = late + held + 1 end  -- held units may be spent as late
    end
    if per_us == 1 and cost >= 0 then  -- most often: no ticks, and it fits
      local full, debt, price = limit * per_unit, max(0, a - now), cost * per_unit
      if debt + price <= full then
        local after = (cost > 0 and max(late, debt) or debt) + price  -- may be over full
        return ALLOWED, max(0, floor((full - after) / per_unit)), after, 0, 0, cost > 0,
            now + after, 0
      end
    end
    local debt, debt_ticks = a - now, min(b, per_us - 1)
    if debt < 0 then debt, debt_ticks = 0, 0 end
    local full, full_ticks = mul_div(limit, per_unit, 0, per_us)
    if cost < 0 then
      local units = limit == 0 and 0 or -cost
      local left, left_ticks = 0, 0
      if units * per_unit / per_us < 4503599627370496 then
        local price, price_ticks = mul_div(units, per_unit, 0, per_us)
        left, left_ticks = debt - price, debt_ticks - price_ticks
        if left_ticks < 0 then left, left_ticks = left - 1, left_ticks + per_us end
        if left < 0 then left, left_ticks = 0, 0 end
      end
      return ALLOWED, remaining_of(full, full_ticks, left, left_ticks, per_unit, per_us),
          left_ticks > 0 and left + 1 or left, 0, 0,
          left ~= debt or left_ticks ~= debt_ticks, now + left, left_ticks
    end
    local beyond = debt - full - window
    local moved = beyond > 0 or (beyond == 0 and debt_ticks > full_ticks)
    if moved then debt, debt_ticks = full, full_ticks end
    if cost > limit then
      return NEVER, remaining_of(full, full_ticks, debt, debt_ticks, per_unit, per_us),
          debt_ticks > 0 and debt + 1 or debt, 0, 0, false
    end
    local price, price_ticks = mul_div(cost, per_unit, 0, per_us)
    local wait, wait_ticks = debt + price - full, debt_ticks + price_ticks - full_ticks
    if wait_ticks >= per_us then
      wait, wait_ticks = wait + 1, wait_ticks - per_us
    elseif wait_ticks < 0 then
      wait, wait_ticks = wait - 1, wait_ticks + per_us
    end
    if wait > 0 or (wait == 0 and wait_ticks > 0) then
      return DENIED, remaining_of(full, full_ticks, debt, debt_ticks, per_unit, per_us),
          debt_ticks > 0 and debt + 1 or debt, wait_ticks > 0 and wait + 1 or wait, 0,
          moved and cost > 0, now + debt, debt_ticks
    end
    if late > debt then debt, debt_ticks = late, 0 end
    debt, debt_ticks = debt + price, debt_ticks + price_ticks
    if debt_ticks >= per_us then debt, debt_ticks = debt + 1, debt_ticks - per_us end
    return ALLOWED, remaining_of(full, full_ticks, debt, debt_ticks, per_unit, per_us),
        debt_ticks > 0 and debt + 1 or debt, 0, 0, cost > 0, now + debt, debt_ticks
  end

  -- The state with so much more debt, but no more than a reader would believe.
  local function charge(a, b, c, d, cost, limit, window, per_unit, per_us)
    if d > 0 then a, b = full_but_for_held(a, b, c, d, window, per_unit, per_us) end
    local debt, debt_ticks = a - now, min(b, per_us - 1)
    if debt < 0 then debt, debt_ticks = 0, 0 end
    local full, most_ticks = mul_div(limit, per_unit, 0, per_us)
    local most = full + window
    local function is_beyond() return debt > most or (debt == most and debt_ticks > most_ticks) end
    if is_beyond() then debt, debt_ticks = full, most_ticks end
    if cost * per_unit / per_us > most + 1 then return now + most, most_ticks end
    local price, price_ticks = mul_div(cost, per_unit, 0, per_us)
    debt, debt_ticks = debt + price, debt_ticks + price_ticks
    if debt_ticks >= per_us then debt, debt_ticks = debt + 1, debt_ticks - per_us end
    if is_beyond() then debt, debt_ticks = most, most_ticks end
    return now + debt, debt_ticks
  end

  return {
    step = step,
    expiry = function(a, b, c, d, window)
      local full = b > 0 and a + 1 or a
      -- Held units are at most what the bucket gains in a window, and owed by the epoch's end.
      return d > 0 and max(full, c + epoch_of(window) + window) or full
    end,
    write = function(a, b, c, d)
      if d > 0 then return pack('<I1i8i8i8i8', 84, a, b, c, d) end
      return pack('<I1i8i8', 84, a, b)
    end,
    read = function(bytes)
      if #bytes == 17 then
        local tag, a, b = unpack_from('<I1i8i8', bytes)
        return checked(tag == 84, a, b, 0, 0)
      elseif #bytes == 33 then
        local tag, a, b, c, d = unpack_from('<I1i8i8i8i8', bytes)
        return checked(tag == 84, a, b, c, d)
      end
    end,
    charge = charge,
    more = function(_, _, _, _, remaining, reset, limit, _, per_unit, per_us)
      if remaining >= limit then return 0 end
      return reset - (mul_div(limit - remaining - 1, per_unit, 0, per_us))
    end,
    copied = function(a, b, c, d, window, per_unit, per_us)
      if d == 0 then return a, b end
      return full_but_for_held(a, b, c, d, window, per_unit, per_us)
    end,
    -- How many more units long leases may hold.
    room_to_hold = function(c, d, limit, window, per_unit, per_us)
      local _, newer, older = held_now(c, d, window)
      local most = min(floor(limit / HELD_PART), (mul_div(window, per_us, 0, per_unit)))
      return min(most, HELD_MAX - 1) - newer - older
    end,
    hold = function(c, d, units, window)
      local ends, newer, older = held_now(c, d, window)
      return ends, older * HELD_MAX + newer + units
    end,
    -- The older units go first: a lease is rather held too long than too short.
    settle = function(c, d, units, window)
      local ends, newer, older = held_now(c, d, window)
      local of_older = min(units, older)
      newer = max(0, newer - (units - of_older))
      return ends, (older - of_older) * HELD_MAX + newer
    end,
  }
end
