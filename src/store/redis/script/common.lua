-- What the algorithms share. Each of them is src/algo's once more, for Redis, and follows it
-- line by line; the reasons are there.
--
-- Numbers are doubles: whole ones are exact up to 2^53, products of two need not be.
-- mul_div() divides those without losing a bit; a token bucket's amounts are pairs of
-- microseconds and ticks, so that they need none. Times are below 2^52 (the year 2112).
--
-- The files of this folder make one script, decide.lua its end. A call pays for whatever the
-- script defines; to define all of it takes about as long as to decide a charge. So what not
-- every call needs is within functions that make it, make_...().
-- They take floor and so on from their tables: when a function is made, a call also pays for
-- each local of the script that it uses.
-- What those of the algorithms return:
--   step    state, cost, limit, window, per_unit, per_us, late -> verdict, remaining, reset,
--           retry, level, changed, and the next state if it did
--   more    state, remaining, reset, limit, window, per_unit, per_us -> until more than remains is
--           left; 0 if that is never. Where the node cannot tell by the rest
--   expiry  state, window -> when it will be as if nothing had been charged
--   write   state, the key's number -> bytes: a tag, then little-endian integers
--   read    bytes -> state; nothing if that is not what they are
-- A state is four numbers a, b, c, d; but a log's first is a string. Some have more:
--   deny    state, limit, window -> whether that changed anything, and the next state. Where
--           denials count
--   charge  state, cost, limit, window, per_unit, per_us -> the next state, whatever the limit
--           says. Where the step cannot do that with a limit that nobody reaches
--   hold, settle, room_to_hold, copied  of what long leases hold. Where it has to be remembered
--   long_for, is_unleased, note_lease, tag_of  of a key that switches: see there
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
  -- q is near; the rest says how near. In halves of 26 bits no product needs over 53.
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

-- The state that was read, if it is one: with others steps could count for ever.
local function checked(is_ours, a, b, c, d)
  local most = 9007199254740992
  if is_ours and a >= 0 and a <= most and b >= 0 and b <= most and c >= 0 and c <= most
      and d >= 0 and d < 4503599627370496 then
    return a, b, c, d
  end
end

-- The most that a long lease lasts.
local function epoch_of(window) return min(60000000, window) end
