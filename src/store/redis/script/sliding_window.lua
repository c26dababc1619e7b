-- sliding_window.h, for Redis; see common.lua.
--
-- a: the current window's start; b: the previous count; c: the current one.
local function make_sliding_window()
  local ALLOWED, DENIED, NEVER = 0, 1, 2
  local max, min, pack, unpack_from = math.max, math.min, struct.pack, struct.unpack
  -- How far into a window `counter` units have faded to `units`.
  local function faded_at(counter, units, window)
    if units >= counter then return 0 end
    return window - (mul_div(units, window, 0, counter))
  end

  local function reset_of(start, previous, current, window)
    if current > 0 then return max(0, start + 2 * window - now) end
    if previous > 0 then return max(0, start + window - now) end
    return 0
  end

  local function rolled(a, b, c, window)
    local elapsed = now - a
    if elapsed >= window then
      if elapsed < 2 * window then return a + window, c, 0 end
      return now - now % window, 0, 0
    elseif elapsed < -window or (elapsed < 0 and b == 0 and c == 0) then
      return now - now % window, b, c
    end
    return a, b, c
  end

  -- Until `room` or less is counted.
  local function wait_for(start, previous, current, room, window)
    local fits_at = current <= room and faded_at(previous, room - current, window)
        or window + faded_at(current, room, window)
    return start + fits_at - now
  end

  local function step(a, b, c, _, cost, limit, window)
    local start, previous, current = rolled(a, b, c, window)
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
    local remaining, reset = max(0, limit - used), reset_of(start, previous, current, window)
    if cost < 0 then
      return ALLOWED, remaining, reset, 0, 0, returned > 0, start, previous, current
    elseif cost > limit then
      return NEVER, remaining, reset, 0, 0, false
    elseif cost == 0 and used <= limit then
      return ALLOWED, remaining, reset, 0, 0, false
    end
    return DENIED, remaining, reset, wait_for(start, previous, current, limit - cost, window), 0,
        start < a and cost > 0, start, previous, current
  end

  return {
    step = step,
    more = function(a, b, c, _, remaining, _, limit, window)
      if remaining >= limit then return 0 end
      local start, previous, current = rolled(a, b, c, window)
      return wait_for(start, previous, current, limit - remaining - 1, window)
    end,
    expiry = function(a, b, c, _, window)
      return c > 0 and a + 2 * window or b > 0 and a + window or 0
    end,
    write = function(a, b, c) return pack('<I1i8i8i8', 83, a, b, c) end,
    read = function(bytes)
      if #bytes ~= 25 then return end
      local tag, a, b, c = unpack_from('<I1i8i8i8', bytes)
      return checked(tag == 83, a, b, c, 0)
    end,
    faded_at = faded_at,
  }
end
