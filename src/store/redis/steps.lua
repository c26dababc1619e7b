-- The algorithms of src/algo once more, for Redis: a key's state, a charge and the time make
-- a decision and the next state. They follow the C++ line by line; the reasons are there.
--
-- Numbers are doubles: whole ones are exact up to 2^53, products of two need not be.
-- mul_div() divides those without losing a bit; a token bucket's amounts are pairs of
-- microseconds and ticks, so that they need none. Times are below 2^52 (the year 2112).
--
-- decide.lua follows in the same script. Tested by tests/redis/decide_script_test.cc.

local floor, max, min = math.floor, math.max, math.min
local pack, unpack_from, sub = struct.pack, struct.unpack, string.sub

local ALLOWED, DENIED, NEVER = 0, 1, 2
local LOG_ENTRIES_MAX = 1024
local COOLDOWN, LEVEL_MAX, DENIALS_PER_LEVEL = 32000000, 5, 10

local now

-- a * b + c divided by d: quotient and rest, exact while the quotient is below 2^52.
local function mul_div(a, b, c, d)
  local product = a * b + c
  local q = floor(product / d)
  if product < 9007199254740992 then return q, product - q * d end
  -- q is near; the rest tells how near. In halves of 26 bits no product needs over 53.
  local ah, bh = floor(a / 67108864), floor(b / 67108864)
  local qh, dh = floor(q / 67108864), floor(d / 67108864)
  local al, bl = a - ah * 67108864, b - bh * 67108864
  local ql, dl = q - qh * 67108864, d - dh * 67108864
  local rest = ((ah * bh - qh * dh) * 67108864 + (ah * bl + al * bh - qh * dl - ql * dh))
      * 67108864 + (al * bl - ql * dl) + c
  while rest < 0 do q, rest = q - 1, rest + d end
  while rest >= d do q, rest = q + 1, rest - d end
  return q, rest
end

-- Each step: the state, cost, limit, window -> verdict, remaining, reset, retry, level,
-- changed, and the next state if it did. A state is four numbers a, b, c, d; a log is a
-- string and its units.

-- a: the window's start; b: its count.
local function fixed_window(a, b, _, _, cost, limit, window)
  local start, count, elapsed = a, b, now - a
  if elapsed >= window then
    start, count = now - now % window, 0
  elseif elapsed < -window or (elapsed < 0 and b == 0) then
    start = now - now % window
  end
  local left = start + window - now
  if cost > limit then
    return NEVER, max(0, limit - count), count > 0 and left or 0, 0, 0, false
  elseif cost > 0 then
    if count + cost > limit then
      return DENIED, max(0, limit - count), count > 0 and left or 0, left, 0,
          start < a, start, count
    end
    count = count + cost
    return ALLOWED, limit - count, left, 0, 0, true, start, count
  elseif cost == 0 then
    local over = count > limit
    return over and DENIED or ALLOWED, max(0, limit - count), count > 0 and left or 0,
        over and left or 0, 0, false
  end
  local returned = (start == a and elapsed >= 0) and min(-cost, count) or 0
  count = count - returned
  return ALLOWED, max(0, limit - count), count > 0 and left or 0, 0, 0, returned > 0, start, count
end

-- How far into a window `counter` units have faded to `units`.
local function faded_at(counter, units, window)
  if units >= counter then return 0 end
  return window - (mul_div(units, window, 0, counter))
end

local function sliding_reset(start, previous, current, window)
  if current > 0 then return max(0, start + 2 * window - now) end
  if previous > 0 then return max(0, start + window - now) end
  return 0
end

-- a: the current window's start; b: the previous count; c: the current one.
local function sliding_window(a, b, c, _, cost, limit, window)
  local start, previous, current, elapsed = a, b, c, now - a
  if elapsed >= window then
    if elapsed < 2 * window then
      start, previous, current = a + window, c, 0
    else
      start, previous, current = now - now % window, 0, 0
    end
  elseif elapsed < -window or (elapsed < 0 and b == 0 and c == 0) then
    start = now - now % window
  end
  local returned = 0
  if cost < 0 and start >= a then
    if now >= start then
      returned = min(-cost, current)
      current = current - returned
    else
      returned = min(-cost, previous)
      previous = previous - returned
    end
  end
  local weight = 0
  if previous > 0 then
    local rest
    weight, rest = mul_div(previous, window - max(0, now - start), 0, window)
    if rest > 0 then weight = weight + 1 end
  end
  local used = current + weight
  local fits = cost <= 0 or used + cost <= limit
  if cost > 0 and fits then
    current, used = current + cost, used + cost
    return ALLOWED, limit - used, start + 2 * window - now, 0, 0, true, start, previous, current
  end
  local remaining, reset = max(0, limit - used), sliding_reset(start, previous, current, window)
  if cost < 0 then
    return ALLOWED, remaining, reset, 0, 0, returned > 0, start, previous, current
  elseif cost > limit then
    return NEVER, remaining, reset, 0, 0, false
  elseif cost == 0 and used <= limit then
    return ALLOWED, remaining, reset, 0, 0, false
  end
  local room = limit - cost
  local fits_at = current <= room and faded_at(previous, room - current, window)
      or window + faded_at(current, room, window)
  return DENIED, remaining, reset, start + fits_at - now, 0, start < a and cost > 0,
      start, previous, current
end

-- What is left of a bucket, full at (full_us, full_ticks), under a debt.
local function bucket_remaining(full_us, full_ticks, us, ticks, per_unit, per_us)
  us, ticks = full_us - us, full_ticks - ticks
  if ticks < 0 then us, ticks = us - 1, ticks + per_us end
  if us < 0 then return 0 end
  return (mul_div(us, per_us, ticks, per_unit))
end

-- What long leases hold of a bucket: the units that were granted in the epoch that ends at c,
-- and those of the epoch before, in one number d. A long lease lasts an epoch at most, so
-- that all that was granted in one is over when the next one ends, if it was not settled.
local HELD_MAX = 67108864

local function epoch_of(window) return min(60000000, window) end

-- The epoch's end, the units of it, and of the one before.
local function held_now(c, d, window)
  local epoch = epoch_of(window)
  if d == 0 or now >= c + epoch then return now + epoch, 0, 0 end
  local newer = d % HELD_MAX
  local older = (d - newer) / HELD_MAX
  if now >= c then return c + epoch, 0, newer end
  return min(c, now + epoch), newer, older
end

-- When the bucket is full again, and ticks: it is never fuller than without what is held.
local function full_but_for_held(a, b, c, d, window, per_unit, per_us)
  local _, newer, older = held_now(c, d, window)
  local held, held_ticks = mul_div(newer + older, per_unit, 0, per_us)
  if a > now + held or (a == now + held and b >= held_ticks) then return a, b end
  return now + held, held_ticks
end

-- a + b / per_us microseconds: when the bucket is full again. An amount is microseconds and
-- ticks of 1 / per_us; a unit is per_unit ticks. A charge is entered as of now + late.
-- c, d: what is held.
local function token_bucket(a, b, c, d, cost, limit, window, per_unit, per_us, late)
  if d > 0 then a, b = full_but_for_held(a, b, c, d, window, per_unit, per_us) end
  if per_us == 1 and cost > 0 and late == 0 then  -- the most common, a twentieth of a call faster
    local full, after = limit * per_unit, max(0, a - now) + cost * per_unit
    if after <= full then
      return ALLOWED, floor((full - after) / per_unit), after, 0, 0, true, now + after, 0
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
    return ALLOWED, bucket_remaining(full, full_ticks, left, left_ticks, per_unit, per_us),
        left_ticks > 0 and left + 1 or left, 0, 0,
        left ~= debt or left_ticks ~= debt_ticks, now + left, left_ticks
  end
  local beyond = debt - full - window
  local moved = beyond > 0 or (beyond == 0 and debt_ticks > full_ticks)
  if moved then debt, debt_ticks = full, full_ticks end
  if cost > limit then
    return NEVER, bucket_remaining(full, full_ticks, debt, debt_ticks, per_unit, per_us),
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
    return DENIED, bucket_remaining(full, full_ticks, debt, debt_ticks, per_unit, per_us),
        debt_ticks > 0 and debt + 1 or debt, wait_ticks > 0 and wait + 1 or wait, 0,
        moved and cost > 0, now + debt, debt_ticks
  end
  if late > debt then debt, debt_ticks = late, 0 end
  debt, debt_ticks = debt + price, debt_ticks + price_ticks
  if debt_ticks >= per_us then debt, debt_ticks = debt + 1, debt_ticks - per_us end
  return ALLOWED, bucket_remaining(full, full_ticks, debt, debt_ticks, per_unit, per_us),
      debt_ticks > 0 and debt + 1 or debt, 0, 0, cost > 0, now + debt, debt_ticks
end

-- The entries of a log: 16 bytes each, a time and units, oldest first.
local function log_entry(log, index) return unpack_from('<i8i8', log, index * 16 + 1) end

-- No entry later than now.
local function log_moved(log)
  local entries = {}
  for index = 0, #log / 16 - 1 do
    local at, units = log_entry(log, index)
    entries[index + 1] = pack('<i8i8', min(at, now), units)
  end
  return table.concat(entries)
end

-- With one more entry, or more units in the newest. A full log merges its two oldest into
-- the later one: it denies too early then, and never admits too much.
local function log_recorded(log, at, units)
  local size = #log / 16
  if size > 0 then
    local newest, newest_units = log_entry(log, size - 1)
    if newest == at then
      return sub(log, 1, -17) .. pack('<i8i8', at, newest_units + units)
    end
  end
  if size >= LOG_ENTRIES_MAX then
    local _, oldest_units = log_entry(log, 0)
    local second, second_units = log_entry(log, 1)
    log = pack('<i8i8', second, oldest_units + second_units) .. sub(log, 33)
  end
  return log .. pack('<i8i8', at, units)
end

-- Without what is gone, and without `units` of the oldest that are not.
local function log_shortened(log, total, units, window)
  local first, size, gone = 0, #log / 16, now - window
  local head = ''
  while first < size do
    local at, held = log_entry(log, first)
    if at > gone then
      if units < held then
        if units > 0 then
          head, total, first = pack('<i8i8', at, held - units), total - units, first + 1
        end
        break
      end
      units = units - held
    end
    first, total = first + 1, total - held
  end
  if first == 0 then return log, total end
  return head .. sub(log, first * 16 + 1), total
end

-- a: the entries; b: their units. A charge is entered as of now + late.
local function sliding_log(a, b, _, _, cost, limit, window, _, _, late)
  local log, used = log_shortened(a, b, cost < 0 and -cost or 0, window)
  local size, newest = #log / 16, 0
  if size > 0 then newest = log_entry(log, size - 1) end
  local future = newest > now + window
  if future then newest = now end
  local counted = window - now  -- an entry counts for its time plus this
  local changed = #log ~= #a or used ~= b
  if cost <= 0 or cost > limit or used + cost > limit then
    local verdict, retry = ALLOWED, 0
    if cost > limit then
      verdict = NEVER
    elseif cost >= 0 and used + cost > limit then
      verdict = DENIED
      local index, excess = 0, used + cost - limit
      local at, units = log_entry(log, 0)
      while excess > units do
        excess, index = excess - units, index + 1
        at, units = log_entry(log, index)
      end
      retry = (future and min(at, now) or at) + counted
      if future and cost > 0 then log, changed = log_moved(log), true end
    end
    return verdict, max(0, limit - used), used > 0 and newest + counted or 0, retry, 0,
        changed, log, used
  end
  if future then log = log_moved(log) end
  local at = max(now + late, newest)
  used = used + cost
  return ALLOWED, limit - used, at + counted, 0, 0, true, log_recorded(log, at, cost), used
end

-- Exponential backoff. a: the window's start; b: its count; c: the cooldown's end;
-- d: denials in a row + 16 * level + 256 if something was denied in the window.
local function backoff_parts(d)
  local run = d % 16
  local level = (d - run) / 16 % 16
  return run, level, d >= 256
end

-- Windows, from the one counted in, until only a cooldown may be left.
local function backoff_windows(b, d)
  local run, level, denied = backoff_parts(d)
  local quiet = max(level, run > 0 and 1 or 0)
  return max(quiet + ((quiet > 0 and denied) and 1 or 0), b > 0 and 1 or 0)
end

local function backoff_expiry(a, b, c, d, window)
  local windows = backoff_windows(b, d)
  return windows == 0 and c or max(a + windows * window, c)
end

local function backoff_rolled(a, b, c, d, window, at)
  local elapsed = at - a
  if elapsed >= window then
    local start = at - at % window
    local run, level, denied = backoff_parts(d)
    local quiet = (start - a) / window - (denied and 1 or 0)
    if quiet > 0 then run = 0 end
    a, b, d = start, 0, run + 16 * max(0, level - quiet)
  elseif elapsed < -window or (elapsed < 0 and backoff_windows(b, d) == 0) then
    a = at - at % window
  end
  return a, b, min(c, at + COOLDOWN), d
end

local function backoff_limit(limit, d)
  if limit == 0 then return 0 end
  local _, level = backoff_parts(d)
  return max(1, floor(limit / 2 ^ level))
end

-- When `cost` would be admitted if nothing else came.
local function backoff_admitted_at(a, b, c, d, cost, limit, window)
  local at = max(now, c)
  for _ = 1, LEVEL_MAX + 2 do
    local start, count, cooldown, rest = backoff_rolled(a, b, c, d, window, at)
    if cooldown <= at and count + cost <= backoff_limit(limit, rest) then break end
    at = start + window
  end
  return at
end

local function backoff_told(verdict, a, b, c, d, cost, limit, window, changed)
  local _, level = backoff_parts(d)
  local remaining = c > now and 0 or max(0, backoff_limit(limit, d) - b)
  local retry = 0
  if verdict == DENIED then
    retry = max(1000000 * 2 ^ level, backoff_admitted_at(a, b, c, d, cost, limit, window) - now)
  end
  return verdict, remaining, max(0, backoff_expiry(a, b, c, d, window) - now), retry, level,
      changed, a, b, c, d
end

local function backoff_denied(a, b, c, d, cost, limit, window, moved)
  if c > now then return backoff_told(DENIED, a, b, c, d, cost, limit, window, moved) end
  local run, level = backoff_parts(d)
  run = run + 1
  if run >= DENIALS_PER_LEVEL then
    run, level = 0, min(LEVEL_MAX, level + 1)
    if level == LEVEL_MAX then c = now + COOLDOWN end
  end
  return backoff_told(DENIED, a, b, c, run + 16 * level + 256, cost, limit, window, true)
end

local function exponential_backoff(a, b, c, d, cost, limit, window)
  local start, count, cooldown, rest = backoff_rolled(a, b, c, d, window, now)
  if cost < 0 then
    local returned = (start == a and now >= a) and min(-cost, count) or 0
    return backoff_told(ALLOWED, start, count - returned, cooldown, rest, 0, limit, window,
                        returned > 0)
  elseif cost > limit then
    return backoff_told(NEVER, start, count, cooldown, rest, 0, limit, window, false)
  elseif cooldown <= now and count + cost <= backoff_limit(limit, rest) then
    if cost > 0 then rest = rest - rest % 16 end
    return backoff_told(ALLOWED, start, count + cost, cooldown, rest, 0, limit, window, cost > 0)
  elseif cost == 0 then
    return backoff_told(DENIED, start, count, cooldown, rest, 0, limit, window, false)
  end
  return backoff_denied(start, count, cooldown, rest, cost, limit, window,
                        start < a or cooldown < c)
end
