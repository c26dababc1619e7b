-- Decides the charges of several independent batches at once; the other files of this folder
-- come before it (common.lua).
--
--   KEYS     the keys that are charged, each once
--   ARGV[1]  the time in microseconds; '' for Redis's own
--   ARGV[2]  the batches, packed as charge_script.cc does
--   replies  the time, then what each batch was answered, as whole numbers
--
-- A key is read once and written once a call, whatever the number of its charges. Nothing
-- is written before all is decided: a script that fails has charged nothing.

local FAILED = 3  -- in addition to the verdicts
local FOREIGN_TYPE, UNREADABLE, UNSUPPORTED, OUTSIDE_WINDOWS = 1, 2, 3, 4

-- The results of `makers`, each made at its first use; they get the others.
local function lazily(makers)
  local made = {}
  return function(number)
    local thing = made[number]
    if not thing then
      thing = makers[number](makers)
      made[number] = thing
    end
    return thing
  end
end

-- ---- keys ----

local batches, byte = ARGV[2], string.byte
local CHARGE, CHARGE_SIZE = '<I1I2i8i8i8i8i8', 47  -- a number of four bytes ends it

local WINDOW, LOG, BUCKET, BACKOFF, CALENDAR, ADAPTIVE, IN_BACKOFF = 0, 1, 3, 4, 15, 16, 18
local algorithm_of = lazily({
  [0] = make_fixed_window, make_sliding_log, make_sliding_window, make_token_bucket,
  make_exponential_backoff, [CALENDAR] = make_calendar_window, [ADAPTIVE] = make_adaptive,
  [IN_BACKOFF] = make_adaptive_backoff,
})

local raw, foreign = {}, {}                -- by the key's number, as all below
local A, B, C, D = {}, {}, {}, {}          -- states; nil until first used
local algorithms = {}
local windows = {}                         -- of the keys that are to be written

local function read_all()
  raw = redis.call('MGET', unpack(KEYS))
  local missing, numbers = {}, {}
  for k = 1, #KEYS do
    if not raw[k] then
      missing[#missing + 1] = KEYS[k]
      numbers[#missing] = k
    end
  end
  -- MGET does not tell a list from a missing key.
  if #missing == 0 or redis.call('EXISTS', unpack(missing)) == 0 then return end
  for index = 1, #missing do
    foreign[numbers[index]] = redis.call('EXISTS', missing[index]) == 1
  end
end

local function start_afresh(k, kind, position)
  algorithms[k] = kind < ADAPTIVE and algorithm_of(kind)
      or algorithm_of(ADAPTIVE).begin(k, position)
  A[k], B[k], C[k], D[k] = kind == LOG and '' or 0, 0, 0, 0
end

-- Loads the key's state; returns what is wrong with it, or nil. The charge at `position` may bring
-- a switch of an adaptive key.
local function load_key(k, kind, position)
  if foreign[k] then return FOREIGN_TYPE end
  if not A[k] and not raw[k] then return start_afresh(k, kind, position) end
  local algorithm, a, b, c, d
  if kind >= ADAPTIVE then
    algorithm, a, b, c, d = algorithm_of(ADAPTIVE).load(
        k, position, raw[k], algorithms[k], A[k], B[k], C[k], D[k])
  else
    algorithm = algorithm_of(kind)
    if A[k] then return algorithms[k] ~= algorithm and UNREADABLE or nil end
    a, b, c, d = algorithm.read(raw[k])
  end
  if not a then return UNREADABLE end
  algorithms[k], A[k], B[k], C[k], D[k] = algorithm, a, b, c, d
end

-- A bucket keeps what its long leases hold, unless c and d say otherwise.
local function store(k, window, a, b, c, d)
  A[k], B[k], C[k], D[k], windows[k] = a, b, c or C[k], d or D[k], window
end

local function write_all()
  -- Under a test's time keys stay for ever, as Redis's own time is another.
  local slack = ARGV[1] == '' and 0 or 4503599627370496
  for k, window in pairs(windows) do
    local algorithm, a, b, c, d = algorithms[k], A[k], B[k], C[k], D[k]
    local ends = algorithm.expiry(a, b, c, d, window)
    if ends > 0 and ends + slack > now then
      -- An end rather than a length, and as text: Redis would convert both itself, more slowly.
      local ends_ms = string.format('%d', floor((ends + slack + 999) / 1000))
      redis.call('SET', KEYS[k], algorithm.write(a, b, c, d, k), 'PXAT', ends_ms)
    elseif raw[k] then
      redis.call('DEL', KEYS[k])
    end
  end
end

-- ---- batches ----

local reply, replies = {}, 1

local function put(value)
  replies = replies + 1
  reply[replies] = value
end

local HAS_MORE = 32

local function tell(verdict, remaining, reset, retry, level, more)
  reply[replies + 1] = remaining * 64 + (more > 0 and HAS_MORE or 0) + level * 4 + verdict
  reply[replies + 2] = reset
  replies = replies + 2
  if verdict == DENIED then put(retry) end
  if more > 0 then put(more) end
end

-- Until more than remains is left of a key; 0 if the reply does not say it. A node knows it for
-- windows and buckets, unless an adaptive key may be one.
local function more_after(kind, k, remaining, reset, limit, window, per_unit, per_us)
  if kind == WINDOW or kind == BUCKET or kind == CALENDAR then return 0 end
  return algorithms[k].more(
      A[k], B[k], C[k], D[k], remaining, reset, limit, window, per_unit, per_us)
end

-- Decides the charge at `position`, or another cost, and keeps the changes.
local function spend(position, as_cost)
  local kind, k, cost, limit, window, per_unit, per_us = unpack_from(CHARGE, batches, position)
  cost = as_cost or cost
  local verdict, remaining, reset, retry, level, changed, a, b, c, d = algorithms[k].step(
      A[k], B[k], C[k], D[k], cost, limit, window, per_unit, per_us, 0)
  if changed then store(k, window, a, b, c, d) end
  return verdict, remaining, reset, retry, level,
      more_after(kind, k, remaining, reset, limit, window, per_unit, per_us)
end

-- The answer if this cost, or another, were spent; remaining and reset are from before the cost.
local function look(position, as_cost)
  local kind, k, cost, limit, window, per_unit, per_us = unpack_from(CHARGE, batches, position)
  cost = as_cost or cost
  local step, a, b, c, d = algorithms[k].step, A[k], B[k], C[k], D[k]
  local verdict, remaining, reset, retry, level =
      step(a, b, c, d, 0, limit, window, per_unit, per_us, 0)
  if cost > 0 then
    local _
    verdict, _, _, retry, level = step(a, b, c, d, cost, limit, window, per_unit, per_us, 0)
  end
  return verdict, remaining, reset, retry, level,
      more_after(kind, k, remaining, reset, limit, window, per_unit, per_us)
end

-- Makes a function that calls `action` for each charge of a batch, and puts the answers.
local function each(action)
  return function(first, count)
    for at = first, first + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do tell(action(at)) end
  end
end

local function make_spend_each() return each(spend) end
local function make_look() return each(look) end

local function make_spend_all()
  -- Each charge's decision, six numbers in a row; they go into the reply when all are known.
  local told = {}

  local function keep(index, verdict, remaining, reset, retry, level, more)
    told[index * 6 + 1], told[index * 6 + 2], told[index * 6 + 3] = verdict, remaining, reset
    told[index * 6 + 4], told[index * 6 + 5], told[index * 6 + 6] = retry, level, more
    return verdict ~= ALLOWED
  end

  local function tell_kept(count)
    for at = 0, count * 6 - 6, 6 do tell(unpack(told, at + 1, at + 6)) end
  end

  -- Notes a denial where the algorithm counts denials.
  local function record_denial(position)
    local _, k, _, limit, window = unpack_from(CHARGE, batches, position)
    local deny = algorithms[k].deny
    if not deny or limit == 0 then return end
    local changed, a, b, c, d = deny(A[k], B[k], C[k], D[k], limit, window)
    if changed then store(k, window, a, b, c, d) end
  end

  -- Charges one after the other. The first that does not fit after all, because its key
  -- comes twice, undoes the others; its index is returned.
  local function spend_in_turn(first, count)
    local before = {}
    for index = 0, count - 1 do
      local at = first + index * CHARGE_SIZE
      local _, k = unpack_from('<I1I2', batches, at)
      before[index] = {k, windows[k], A[k], B[k], C[k], D[k]}
      local verdict, remaining, reset, retry, level, more = spend(at)
      if verdict ~= ALLOWED then
        for undone = index, 0, -1 do
          store(unpack(before[undone], 1, 6))
        end
        return index, verdict, remaining, reset, retry, level, more
      end
      before[index].decision = {verdict, remaining, reset, retry, level, more}
    end
    for index = 0, count - 1 do keep(index, unpack(before[index].decision)) end
  end

  return function(first, count)
    local denied = false
    for index = 0, count - 1 do
      if keep(index, look(first + index * CHARGE_SIZE)) then denied = true end
    end
    if not denied then
      local index, verdict, remaining, reset, retry, level, more = spend_in_turn(first, count)
      if index then keep(index, verdict, remaining, reset, retry, level, more) end
      denied = index ~= nil
    end
    if denied then
      for index = 0, count - 1 do
        if told[index * 6 + 1] == DENIED then record_denial(first + index * CHARGE_SIZE) end
      end
    end
    tell_kept(count)
  end
end

local function make_reset()
  local function reset(position)
    local kind, k, _, _, window = unpack_from(CHARGE, batches, position)
    start_afresh(k, kind, position)
    windows[k] = window
    foreign[k], raw[k] = false, raw[k] or foreign[k] and ''
    return look(position)
  end
  return each(reset)
end

-- A key no longer holds the units of long leases that nodes spent or gave back; it owes the spent
-- ones as of now. For leases that have ended this comes too late.
local function settle(k, units, ends, window, per_unit, per_us)
  local settle_held = algorithms[k].settle
  if not settle_held or D[k] == 0 or units == 0 or now >= ends then return end
  local a, b = algorithms[k].copied(A[k], B[k], C[k], D[k], window, per_unit, per_us)
  store(k, window, a, b, settle_held(C[k], D[k], units, window))
end

local function make_lease()
  -- The most units of a long lease: a smaller share of what remains than others get. Leases may
  -- hold an eighth of a bucket at most.
  local LONG_PART = 4
  local function units_of_long(k, cost, remaining, share, ...)
    local room_to_hold = algorithms[k].room_to_hold
    local units = min(cost, floor(remaining / (LONG_PART * share)))
    return room_to_hold and min(units, room_to_hold(C[k], D[k], ...)) or units
  end

  local function tell_lease(verdict, remaining, reset, retry, level, more, units, length, is_long)
    tell(verdict, remaining, reset, retry, level, more)
    put(units)
    put(length)
    put(is_long)
  end

  -- Grants up to the cost: at most a share of what remains, but at least what is needed at once,
  -- and one unit, if so many are left. The grant may be spent at any time until the lease ends. So
  -- it is charged as of its end; where windows count, as of the window's end at the latest. A
  -- bucket remembers what long leases hold.
  -- Only counts of an adaptive key have long leases, while the caller wants no bucket either: a
  -- bucket that becomes counts would have to remember what they hold. In backoff it has no leases,
  -- as Redis must see each request; then the caller asks for a decision.
  -- Answers for the key; if less was granted than is needed, for one unit more.
  local function lease(position, share, wanted, short, long, settled, ends)
    local kind, k, cost, limit, window, per_unit, per_us = unpack_from(CHARGE, batches, position)
    settle(k, settled, ends, window, per_unit, per_us)
    local step, hold, a, b, c, d = algorithms[k].step, algorithms[k].hold, A[k], B[k], C[k], D[k]
    local _, remaining, reset = step(a, b, c, d, 0, limit, window, per_unit, per_us, 0)
    local long_for, note_lease = algorithms[k].long_for, algorithms[k].note_lease
    if algorithms[k].is_unleased then
      return tell_lease(ALLOWED, remaining, reset, 0, 0, 0, 0, 0, 0)
    elseif long_for and long_for ~= kind then
      long = 0
    end
    local needed = max(1, min(wanted, remaining))
    local units, length = min(cost, max(needed, floor(remaining / share))), min(short, window)
    local is_long = false
    if long > 0 then
      local few = units_of_long(k, cost, remaining, share, limit, window, per_unit, per_us)
      is_long = few >= max(2, needed)
      if is_long then units, length = few, min(long, epoch_of(window)) end
    end
    local verdict, left, reset_after, retry, level, changed, new_a, new_b, new_c = step(
        a, b, c, d, units, limit, window, per_unit, per_us, is_long and hold and 0 or length)
    if changed then store(k, window, new_a, new_b, new_c) end
    if verdict ~= ALLOWED then
      units, length, is_long = 0, 0, false
    elseif is_long and hold then
      C[k], D[k] = hold(c, d, units, window)
    end
    if units > 0 and units < wanted then
      verdict, _, _, retry, level =
          step(A[k], B[k], C[k], D[k], 1, limit, window, per_unit, per_us, 0)
    end
    local counts_by_window = kind ~= LOG and not hold
    if units > 0 and counts_by_window then
      length = min(length, (kind == CALENDAR and new_a or new_a + window) - now)
      if note_lease then note_lease(k, now + length) end
    end
    local more = more_after(kind, k, left, reset_after, limit, window, per_unit, per_us)
    tell_lease(verdict, left, reset_after, retry, level, more, units, length, is_long and 1 or 0)
  end

  return function(first, count, terms)
    local share, wanted, short, long, settled, ends = unpack_from('<i8i8i8i8i8i8', batches, terms)
    for at = first, first + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do
      lease(at, share, wanted, short, long, settled, ends)
    end
  end
end

-- Makes a function that charges even over the limit: as many units as may be owed. Not where the
-- limit is 0, or the cost is not above it.
local function make_charge()
  local NO_LIMIT = 2 ^ 50
  return function(position)
    local _, k, cost, limit, window, per_unit, per_us = unpack_from(CHARGE, batches, position)
    local step, charge = algorithms[k].step, algorithms[k].charge
    local a, b, c, d = A[k], B[k], C[k], D[k]
    if cost <= 0 or limit == 0 then return end
    if charge then
      return store(k, window, charge(a, b, c, d, cost, limit, window, per_unit, per_us))
    end
    local _, left = step(a, b, c, d, 0, NO_LIMIT, window, per_unit, per_us, 0)
    local units, most = min(cost, 2 * limit - (NO_LIMIT - left)), NO_LIMIT
    if units <= 0 then units, most = 1, limit end  -- a denial
    local changed, next_a, next_b, next_c, next_d =
        select(6, step(a, b, c, d, units, most, window, per_unit, per_us, 0))
    if changed then store(k, window, next_a, next_b, next_c, next_d) end
  end
end

local function make_charge_each()
  local charge = make_charge()
  return each(function(position)
    local _, _, cost, limit = unpack_from(CHARGE, batches, position)
    if cost <= 0 or limit == 0 then return spend(position) end
    charge(position)
    return look(position, 0)
  end)
end

-- First the rest is charged. Then the charge is denied once, and says how long from then on.
local function make_drain_each()
  return each(function(position)
    local verdict, remaining = look(position)
    if verdict ~= ALLOWED and remaining > 0 then spend(position, remaining) end
    return spend(position)
  end)
end

local function make_sync()
  local charge = make_charge()
  -- Charges, and returns the state; zeros for logs and backoffs, which no node copies.
  local function sync(position)
    charge(position)
    local kind, k, _, _, window, per_unit, per_us = unpack_from(CHARGE, batches, position)
    local a, b, c, d = A[k], B[k], C[k], D[k]
    local copied, tag_of = algorithms[k].copied, algorithms[k].tag_of
    if kind == LOG or kind == BACKOFF then a, b, c = 0, 0, 0 end
    if copied then a, b = copied(a, b, c, d, window, per_unit, per_us) end
    put(ALLOWED)
    put(a)
    put(b)
    put(c)
    if tag_of then put(tag_of(k)) end
  end

  return function(first, count)
    for at = first, first + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do sync(at) end
  end
end

-- Gives back the rest of a lease only while the state still has its charge to undo.
local function make_return()
  return function(first, count, terms)
    local settled, ends = unpack_from('<i8i8', batches, terms)
    local _, k, _, _, window, per_unit, per_us = unpack_from(CHARGE, batches, first)
    settle(k, settled, ends, window, per_unit, per_us)
    each(now < ends and spend or look)(first, count)
  end
end

local SPEND_EACH, SPEND_ALL, LOOK, RESET, CHARGE_EACH, DRAIN_EACH = 0, 1, 2, 3, 4, 5
local LEASE, SYNC, RETURN = 6, 7, 8
local LOOK_AT_HOLDS, HOLDS = 11, 16  -- behind it what holds.lua does, and slots.lua before HOLDS
local TERMS_SIZES = {[LEASE] = 48, [RETURN] = 16}
local action_of = lazily({
  [SPEND_EACH] = make_spend_each, [SPEND_ALL] = make_spend_all, [LOOK] = make_look,
  [RESET] = make_reset, [CHARGE_EACH] = make_charge_each, [DRAIN_EACH] = make_drain_each,
  [LEASE] = make_lease, [SYNC] = make_sync, [RETURN] = make_return,
})

-- Whether Redis's time is in none of the three windows that the caller knows. The first of them may
-- have lasted an hour longer than such windows do.
local function is_outside(position)
  local _, _, _, _, begin, _, ends, length = unpack_from(CHARGE .. 'I4', batches, position)
  return now >= ends or now < begin - (length + 3600) * 1000000
end

-- Returns what is wrong with a charge of the batch, or nil; if one is wrong, none is decided.
local function load_batch(operation, first, count)
  for at = first, first + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do
    local kind, low, high = byte(batches, at, at + 2)
    if kind == CALENDAR and is_outside(at) then return OUTSIDE_WINDOWS end
    if operation ~= RESET then
      local failure = load_key(low + 256 * high, kind, at)
      if failure then return failure end
    end
    if operation == LEASE and kind == BACKOFF then return UNSUPPORTED end
  end
end

-- For batches that count held units.
local held
local function make_held()
  local charge = make_charge()
  -- Charges the charge that a hold has kept, as of another time. Returns what is wrong, or nil.
  local function charge_as(text, k, as_of)
    local as_of_now, here = now, batches
    now, batches = as_of, text
    local failure = load_key(k, byte(text), 1)
    if not failure then charge(1) end
    now, batches = as_of_now, here
    return failure
  end
  return make_holds({
    reply = reply, put = put, tell = tell, look = look, spend = spend, charge_as = charge_as,
    load_batch = load_batch, action_of = action_of,
  })
end

-- Returns where the next batch begins.
local slots
local function decide_batch(position)
  local operation, count = byte(batches, position, position + 1)
  local terms = position + 2
  if operation > LOOK_AT_HOLDS and operation < HOLDS then
    slots = slots or make_slots({put = put, tell = tell})
    return slots(operation, terms)
  end
  if operation > RETURN then
    held = held or make_held()
    return held(operation, count, terms)
  end
  local first = terms + (TERMS_SIZES[operation] or 0)
  local failure = load_batch(operation, first, count)
  if operation == SPEND_ALL and count == 1 then operation = SPEND_EACH end  -- most batches
  if failure then
    put(failure * 4 + FAILED)
  else
    action_of(operation)(first, count, terms)
  end
  return first + count * CHARGE_SIZE
end

if ARGV[1] == '' then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
else
  now = tonumber(ARGV[1])
end
reply[1] = now
read_all()
local position, size = 1, #batches
while position <= size do position = decide_batch(position) end
write_all()
return reply
