-- fixed_window.h, for Redis; see common.lua.
--
-- a: the window's start; b: its count.
local function make_fixed_window()
  local ALLOWED, DENIED, NEVER = 0, 1, 2
  local max, min, pack, unpack_from = math.max, math.min, struct.pack, struct.unpack
  local function step(a, b, _, _, cost, limit, window)
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

  return {
    step = step,
    expiry = function(a, b, _, _, window) return b > 0 and a + window or 0 end,
    write = function(a, b) return pack('<I1i8i8', 70, a, b) end,
    read = function(bytes)
      if #bytes ~= 17 then return end
      local tag, a, b = unpack_from('<I1i8i8', bytes)
      return checked(tag == 70, a, b, 0, 0)
    end,
  }
end
