-- calendar_window.h, for Redis; see common.lua. In a charge, `window` is where its current window
-- begins, per_unit where that ends, and per_us where the next window ends.
--
-- a: the window's end; b: its count.
local function make_calendar_window()
  local ALLOWED, DENIED, NEVER = 0, 1, 2
  local max, min, pack, unpack_from = math.max, math.min, struct.pack, struct.unpack
  local function step(a, b, _, _, cost, limit, begin, current, following)
    local ends, after = following, 0
    if now < begin then
      ends, after = begin, current
    elseif now < current then
      ends, after = current, following
    end
    local at, count = ends, b
    if a == after and b > 0 then
      at = a
    elseif a <= now then
      count = 0
    end
    local left = at - now
    if cost > limit then
      return NEVER, max(0, limit - count), count > 0 and left or 0, 0, 0, false
    elseif cost > 0 then
      if count + cost > limit then
        return DENIED, max(0, limit - count), count > 0 and left or 0, left, 0,
            at ~= a and count > 0, at, count
      end
      count = count + cost
      return ALLOWED, limit - count, left, 0, 0, true, at, count
    elseif cost == 0 then
      local over = count > limit
      return over and DENIED or ALLOWED, max(0, limit - count), count > 0 and left or 0,
          over and left or 0, 0, false
    end
    local returned = a == ends and min(-cost, count) or 0
    count = count - returned
    return ALLOWED, max(0, limit - count), count > 0 and left or 0, 0, 0, returned > 0, at, count
  end

  return {
    step = step,
    expiry = function(a, b) return b > 0 and a or 0 end,
    write = function(a, b) return pack('<I1i8i8', 67, a, b) end,
    read = function(bytes)
      if #bytes ~= 17 then return end
      local tag, a, b = unpack_from('<I1i8i8', bytes)
      return checked(tag == 67, a, b, 0, 0)
    end,
  }
end
