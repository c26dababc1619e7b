-- Exponential backoff as adaptive.cc has it, for Redis: on the two counts of a sliding window.
-- See adaptive.lua.
--
-- a: the current window's start; b: the previous count; c: the current one;
-- d: the penalty (penalty.lua) + 512 * the cooldown's end, in grains of 2^18 us.
-- A sliding window's state is one of these, with d = 0.
local function make_adaptive_backoff(makers)
  local COOLDOWN, GRAIN, WINDOWS_MAX = 32000000, 262144, 8
  local ALLOWED, DENIED, NEVER, SLIDING_WINDOW = 0, 1, 2, 2
  local max, min = math.max, math.min
  local after_windows, after_denial, windows_of_penalty, level_of, limit_at = make_penalty()
  local faded_at = makers[SLIDING_WINDOW]().faded_at

  local function parts_of(d)
    local penalty = d % 512
    return penalty, (d - penalty) / 512 * GRAIN
  end

  local function packed(penalty, cooldown) return penalty + cooldown / GRAIN * 512 end

  local function cooldown_end(begin) return math.ceil((begin + COOLDOWN) / GRAIN) * GRAIN end

  -- Windows, from the current one, until only a cooldown may be left.
  local function windows_of(b, c, penalty)
    return max(c > 0 and 2 or b > 0 and 1 or 0, windows_of_penalty(penalty))
  end

  local function expiry(a, b, c, d, window)
    local penalty, cooldown = parts_of(d)
    local windows = windows_of(b, c, penalty)
    return windows == 0 and cooldown or max(a + windows * window, cooldown)
  end

  -- The state as of `at`, with the penalty in two parts.
  local function rolled(a, b, c, d, window, at)
    local elapsed, penalty, cooldown = at - a, parts_of(d)
    if elapsed >= window then
      local start = at - at % window
      local finished = (start - a) / window
      a, b, c = start, finished == 1 and c or 0, 0
      penalty = after_windows(penalty, finished)
    elseif elapsed < -window or (elapsed < 0 and windows_of(b, c, penalty) == 0) then
      a = at - at % window
    end
    local latest = max(at, a)
    cooldown = cooldown <= latest and 0 or min(cooldown, cooldown_end(latest))
    return a, b, c, penalty, cooldown
  end

  -- Units that the counts hold.
  local function held(a, b, c, window, at)
    if b == 0 then return c end
    local weight, rest = mul_div(b, window - max(0, at - a), 0, window)
    return c + weight + (rest > 0 and 1 or 0)
  end

  -- When `cost` would be admitted if nothing else came.
  local function admitted_at(a, b, c, d, cost, limit, window)
    local _, cooldown = parts_of(d)
    local at = max(now, cooldown)
    for _ = 1, WINDOWS_MAX do
      local start, previous, current, penalty, cools = rolled(a, b, c, d, window, at)
      local room = limit_at(limit, penalty) - cost
      if cools == 0 and held(start, previous, current, window, at) <= room then break end
      local faded = room < current and window or faded_at(previous, room - current, window)
      at = start + faded
      if faded < window then break end
    end
    return at
  end

  local function told(verdict, a, b, c, penalty, cooldown, cost, limit, window, changed)
    local level, d, remaining, retry = level_of(penalty), packed(penalty, cooldown), 0, 0
    if cooldown == 0 then
      remaining = max(0, limit_at(limit, penalty) - held(a, b, c, window, now))
    end
    if verdict == DENIED then
      retry = max(1000000 * 2 ^ level, admitted_at(a, b, c, d, cost, limit, window) - now)
    end
    return verdict, remaining, max(0, expiry(a, b, c, d, window) - now), retry, level, changed,
        a, b, c, d
  end

  local function count_denial(a, b, c, penalty, cooldown, cost, limit, window, moved)
    if cooldown > 0 then
      return told(DENIED, a, b, c, penalty, cooldown, cost, limit, window, moved)
    end
    local cools_down
    penalty, cools_down = after_denial(penalty)
    if cools_down then cooldown = cooldown_end(max(now, a)) end
    return told(DENIED, a, b, c, penalty, cooldown, cost, limit, window, true)
  end

  -- Whether rolling corrected times that a wrong clock wrote.
  local function was_moved(a, d, start, cooldown)
    local _, before = parts_of(d)
    return start < a or (cooldown > 0 and cooldown < before)
  end

  local function give_back(a, start, b, c, penalty, cooldown, units, limit, window)
    local returned = 0
    if start >= a and now >= start then
      returned = min(units, c)
      c = c - returned
    elseif start >= a then
      returned = min(units, b)
      b = b - returned
    end
    return told(ALLOWED, start, b, c, penalty, cooldown, 0, limit, window, returned > 0)
  end

  local function step(a, b, c, d, cost, limit, window)
    local start, previous, current, penalty, cooldown = rolled(a, b, c, d, window, now)
    if cost < 0 then
      return give_back(a, start, previous, current, penalty, cooldown, -cost, limit, window)
    elseif cost > limit then
      return told(NEVER, start, previous, current, penalty, cooldown, 0, limit, window, false)
    end
    local used = held(start, previous, current, window, now)
    if cooldown == 0 and used + cost <= limit_at(limit, penalty) then
      if cost > 0 then penalty = penalty - penalty % 16 end
      return told(ALLOWED, start, previous, current + cost, penalty, 0, 0, limit, window, cost > 0)
    elseif cost == 0 then
      return told(DENIED, start, previous, current, penalty, cooldown, 0, limit, window, false)
    end
    return count_denial(start, previous, current, penalty, cooldown, cost, limit, window,
                        was_moved(a, d, start, cooldown))
  end

  return {
    step = step,
    more = function(a, b, c, d, remaining, _, limit, window)
      if remaining >= limit then return 0 end
      local start, previous, current, penalty, cooldown = rolled(a, b, c, d, window, now)
      return admitted_at(start, previous, current, packed(penalty, cooldown), remaining + 1, limit,
                         window) - now
    end,
    expiry = expiry,
    deny = function(a, b, c, d, limit, window)
      local start, previous, current, penalty, cooldown = rolled(a, b, c, d, window, now)
      return select(6, count_denial(start, previous, current, penalty, cooldown, 1, limit, window,
                                    was_moved(a, d, start, cooldown)))
    end,
    charge = function(a, b, c, d, cost, limit, window)
      local start, previous, current, penalty, cooldown = rolled(a, b, c, d, window, now)
      local used = held(start, previous, current, window, now)
      if cooldown == 0 and used + cost <= limit_at(limit, penalty) then
        penalty = penalty - penalty % 16
      elseif cooldown == 0 then
        local cools_down
        penalty, cools_down = after_denial(penalty)
        if cools_down then cooldown = cooldown_end(max(now, start)) end
      end
      current = current + min(cost, max(0, 2 * limit - used))
      return start, previous, current, packed(penalty, cooldown)
    end,
    -- The units that are not left, the units that the counts hold, and the windows of these.
    not_left = function(a, b, c, d, limit, window)
      local start, previous, current, penalty, cooldown = rolled(a, b, c, d, window, now)
      local used = held(start, previous, current, window, now)
      local left = cooldown > 0 and 0 or max(0, limit_at(limit, penalty) - used)
      return max(used, limit - left), used, start, previous, current
    end,
  }
end
