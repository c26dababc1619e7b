-- Shared by the algorithms. Each file follows src/algo's algorithm line by line, for Redis; the
-- reasons are there.
--
-- Numbers are doubles: whole numbers are exact up to 2^53, their products may not be. mul_div()
-- divides products without losing a bit. A token bucket's amounts are pairs of microseconds and
-- ticks, so they need no products. Times are below 2^52 (the year 2112).
--
-- The files of this folder make one script, which decide.lua ends. A call pays for each function
-- that the script defines; to define all takes about as long as to decide a charge. So functions
-- that not every call needs are made within others, make_...(). These take floor and so on from
-- their tables: a call also pays for each local of the script that a function made in it uses.
-- The functions of the algorithms and their results:
--   step    state, cost, limit, window, per_unit, per_us, late -> verdict, remaining, reset,
--           retry, level, changed, and the next state if it did
--   more    state, remaining, reset, limit, window, per_unit, per_us -> until more than remains is
--           left; 0 if never. Only where the node cannot tell it from the rest of the reply
--   expiry  state, window -> when it will be as if nothing had been charged
--   write   state, the key's number -> bytes: a tag, then little-endian integers
--   read    bytes -> state; nil if the bytes are none
-- A state is four numbers a, b, c, d; but a log's first is a string. Some have more:
--   deny    state, limit, window -> whether that changed anything, and the next state. Only where
--           denials count
--   charge  state, cost, limit, window, per_unit, per_us -> the next state, even over the limit.
--           Only where the step cannot do that with a limit that nobody reaches
--   hold, settle, room_to_hold, copied  for long leases, where the state has to remember them
--   long_for, is_unleased, note_lease, tag_of  for an adaptive key: see adaptive.lua
--
-- Tested by tests/redis/decide_script_test.cc.

local floor, max, min = math.floor, math.max, math.min
local pack, unpack_from, sub = struct.pack, struct.unpack, string.sub

local ALLOWED, DENIED, NEVER = 0, 1, 2

local now

-- a * b + c divided by d: quotient and rest, exact while the quotient is below 2^52.
local function mul_div(a, b, c, d)
  local product = a * b + c
  local q = floor(product / d)
  if product < 9007199254740992 then return q, product - q * d end
  -- q is near; the rest says how near. In halves of 26 bits no product needs over 53 bits.
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

-- Returns the state if it is valid: with others, steps could count for ever.
local function checked(is_ours, a, b, c, d)
  local most = 9007199254740992
  if is_ours and a >= 0 and a <= most and b >= 0 and b <= most and c >= 0 and c <= most
      and d >= 0 and d < 4503599627370496 then
    return a, b, c, d
  end
end

-- The most that a long lease lasts.
local function epoch_of(window) return min(60000000, window) end
