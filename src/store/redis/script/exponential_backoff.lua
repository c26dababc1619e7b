-- exponential_backoff.h, for Redis; see common.lua.
--
-- a: the window's start; b: its count; c: the cooldown's end; d: the penalty (penalty.lua).
local function make_exponential_backoff()
  local ALLOWED, DENIED, NEVER = 0, 1, 2
  local max, min, pack, unpack_from = math.max, math.min, struct.pack, struct.unpack
  local COOLDOWN, LEVEL_MAX = 32000000, 5
  local after_windows, after_denial, windows_of_penalty, level_of, limit_at = make_penalty()

  -- Windows, from the one counted in, until only a cooldown may be left.
  local function windows_of(b, d) return max(windows_of_penalty(d), b > 0 and 1 or 0) end

  local function expiry(a, b, c, d, window)
    local windows = windows_of(b, d)
    return windows == 0 and c or max(a + windows * window, c)
  end

  local function rolled(a, b, c, d, window, at)
    local elapsed = at - a
    if elapsed >= window then
      local start = at - at % window
      a, b, d = start, 0, after_windows(d, (start - a) / window)
    elseif elapsed < -window or (elapsed < 0 and windows_of(b, d) == 0) then
      a = at - at % window
    end
    return a, b, min(c, at + COOLDOWN), d
  end

  -- When `cost` would be admitted if nothing else came.
  local function admitted_at(a, b, c, d, cost, limit, window)
    local at = max(now, c)
    for _ = 1, LEVEL_MAX + 2 do
      local start, count, cooldown, rest = rolled(a, b, c, d, window, at)
      if cooldown <= at and count + cost <= limit_at(limit, rest) then break end
      at = start + window
    end
    return at
  end

  local function told(verdict, a, b, c, d, cost, limit, window, changed)
    local level = level_of(d)
    local remaining = c > now and 0 or max(0, limit_at(limit, d) - b)
    local retry = 0
    if verdict == DENIED then
      retry = max(1000000 * 2 ^ level, admitted_at(a, b, c, d, cost, limit, window) - now)
    end
    return verdict, remaining, max(0, expiry(a, b, c, d, window) - now), retry, level, changed,
        a, b, c, d
  end

  local function count_denial(a, b, c, d, cost, limit, window, moved)
    if c > now then return told(DENIED, a, b, c, d, cost, limit, window, moved) end
    local penalty, cools_down = after_denial(d)
    if cools_down then c = now + COOLDOWN end
    return told(DENIED, a, b, c, penalty, cost, limit, window, true)
  end

  local function step(a, b, c, d, cost, limit, window)
    local start, count, cooldown, rest = rolled(a, b, c, d, window, now)
    if cost < 0 then
      local returned = (start == a and now >= a) and min(-cost, count) or 0
      return told(ALLOWED, start, count - returned, cooldown, rest, 0, limit, window,
                  returned > 0)
    elseif cost > limit then
      return told(NEVER, start, count, cooldown, rest, 0, limit, window, false)
    elseif cooldown <= now and count + cost <= limit_at(limit, rest) then
      if cost > 0 then rest = rest - rest % 16 end
      return told(ALLOWED, start, count + cost, cooldown, rest, 0, limit, window, cost > 0)
    elseif cost == 0 then
      return told(DENIED, start, count, cooldown, rest, 0, limit, window, false)
    end
    return count_denial(start, count, cooldown, rest, cost, limit, window,
                        start < a or cooldown < c)
  end

  return {
    step = step,
    more = function(a, b, c, d, remaining, _, limit, window)
      if remaining >= limit then return 0 end
      a, b, c, d = rolled(a, b, c, d, window, now)
      return admitted_at(a, b, c, d, remaining + 1, limit, window) - now
    end,
    expiry = expiry,
    write = function(a, b, c, d) return pack('<I1i8i8i8I2', 66, a, b, c, d) end,
    read = function(bytes)
      if #bytes ~= 27 then return end
      local tag, a, b, c, d = unpack_from('<I1i8i8i8I2', bytes)
      return checked(tag == 66, a, b, c, d)
    end,
    charge = function(a, b, c, d, cost, limit, window)
      local start, count, cooldown, rest = rolled(a, b, c, d, window, now)
      if cooldown <= now and count + cost <= limit_at(limit, rest) then
        rest = rest - rest % 16
      elseif cooldown <= now then
        local cools_down
        rest, cools_down = after_denial(rest)
        if cools_down then cooldown = now + COOLDOWN end
      end
      return start, count + min(cost, max(0, 2 * limit - count)), cooldown, rest
    end,
    -- Counts a denial: returns whether that changed anything, and the next state.
    deny = function(a, b, c, d, limit, window)
      local start, count, cooldown, rest = rolled(a, b, c, d, window, now)
      return select(6, count_denial(start, count, cooldown, rest, 1, limit, window,
                                    start < a or cooldown < c))
    end,
  }
end
