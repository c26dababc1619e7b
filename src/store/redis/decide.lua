-- Decides the charges of several independent batches at once; steps.lua comes before it.
--
--   KEYS     the keys that are charged, each once
--   ARGV[1]  the time in microseconds; '' for Redis's own
--   ARGV[2]  the batches, packed as charge_script.cc does
--   replies  the time, then what each batch was answered, as whole numbers
--
-- A key is read once and written once a call, whatever the number of its charges. Nothing
-- is written before all is decided: a script that fails has charged nothing.

local FAILED = 3  -- beside the verdicts
local FOREIGN_TYPE, UNREADABLE, UNSUPPORTED = 1, 2, 3

-- ---- keys ----

-- By algorithm: the step, and the state as bytes: a tag, then little-endian integers.
local WINDOW, LOG, BUCKET, BACKOFF = 0, 1, 3, 4
local steps = {[0] = fixed_window, sliding_log, sliding_window, token_bucket, exponential_backoff}
local tags = {[0] = 70, 76, 83, 84, 66}  -- F L S T B
local formats = {[0] = '<I1i8i8', '<I1i8', '<I1i8i8i8', '<I1i8i8', '<I1i8i8i8I2'}
local sizes = {[0] = 17, 9, 25, 17, 27}

local raw, foreign = {}, {}                -- by the key's number, as all below
local A, B, C, D = {}, {}, {}, {}          -- states; nil until somebody asks
local algorithms = {}
local windows = {}                         -- of those that are to be written

local function read_all()
  raw = redis.call('MGET', unpack(KEYS))
  local missing, numbers = {}, {}
  for k = 1, #KEYS do
    if not raw[k] then
      missing[#missing + 1] = KEYS[k]
      numbers[#missing] = k
    end
  end
  -- MGET does not tell a list from nothing.
  if #missing == 0 or redis.call('EXISTS', unpack(missing)) == 0 then return end
  for index = 1, #missing do
    foreign[numbers[index]] = redis.call('EXISTS', missing[index]) == 1
  end
end

local function make_fresh(k, algorithm)
  A[k], B[k], C[k], D[k] = algorithm == LOG and '' or 0, 0, 0, 0
end

-- What is wrong with the key, if anything; else its state is there.
local function load_key(k, algorithm)
  if foreign[k] then return FOREIGN_TYPE end
  if A[k] then return algorithms[k] ~= algorithm and UNREADABLE or nil end
  local bytes = raw[k]
  algorithms[k] = algorithm
  if not bytes then return make_fresh(k, algorithm) end
  local size = #bytes
  if algorithm == LOG and size > 9 and size <= 9 + 16 * LOG_ENTRIES_MAX then
    size = 9 + (size - 9) % 16
  end
  if size ~= sizes[algorithm] then return UNREADABLE end
  local tag, a, b, c, d = unpack_from(formats[algorithm], bytes)
  if tag ~= tags[algorithm] or a < 0 or a > 9007199254740992 then return UNREADABLE end
  if algorithm == LOG then
    a, b, c, d = sub(bytes, 10), a, 0, 0
  elseif b < 0 or b > 9007199254740992 or c < 0 or c > 9007199254740992 then
    return UNREADABLE  -- c of the shorter ones is where the next byte would be
  end
  A[k], B[k], C[k], D[k] = a, b, c, d or 0
end

local function store(k, window, a, b, c, d)
  A[k], B[k], C[k], D[k], windows[k] = a, b, c or 0, d or 0, window
end

local function expiry(k, window)
  local algorithm, a, b, c = algorithms[k], A[k], B[k], C[k]
  if algorithm == BUCKET then return b > 0 and a + 1 or a end
  if algorithm == BACKOFF then return backoff_expiry(a, b, c, D[k], window) end
  if algorithm == LOG then
    return a == '' and 0 or log_entry(a, #a / 16 - 1) + window
  end
  if algorithm == WINDOW then return b > 0 and a + window or 0 end
  return c > 0 and a + 2 * window or b > 0 and a + window or 0
end

-- Under a given time keys stay for ever, as Redis's own time is another.
local slack = ARGV[1] == '' and 0 or 4503599627370496

local function write_all()
  for k, window in pairs(windows) do
    local ends = expiry(k, window)
    if ends > 0 and ends + slack > now then
      local algorithm = algorithms[k]
      local bytes
      if algorithm == LOG then
        bytes = pack('<I1i8', 76, B[k]) .. A[k]
      else
        bytes = pack(formats[algorithm], tags[algorithm], A[k], B[k], C[k], D[k])
      end
      -- An end rather than a length, and as text: Redis would make that of them, slower.
      local ends_ms = string.format('%d', floor((ends + slack + 999) / 1000))
      redis.call('SET', KEYS[k], bytes, 'PXAT', ends_ms)
    elseif raw[k] then
      redis.call('DEL', KEYS[k])
    end
  end
end

-- ---- batches ----

local batches, byte = ARGV[2], string.byte
local CHARGE, CHARGE_SIZE = '<I1I2i8i8i8i8i8', 43
local reply, replies = {}, 1

local function put(value)
  replies = replies + 1
  reply[replies] = value
end

local function tell(verdict, remaining, reset, retry, level)
  reply[replies + 1] = remaining * 64 + level * 4 + verdict
  reply[replies + 2] = reset
  replies = replies + 2
  if verdict == DENIED then put(retry) end
end

-- Decides the charge at `position` and keeps what that changes.
local function spend(position)
  local algorithm, k, cost, limit, window, per_unit, per_us = unpack_from(CHARGE, batches, position)
  local verdict, remaining, reset, retry, level, changed, a, b, c, d = steps[algorithm](
      A[k], B[k], C[k], D[k], cost, limit, window, per_unit, per_us, 0)
  if changed then store(k, window, a, b, c, d) end
  return verdict, remaining, reset, retry, level
end

-- What spending would answer; remaining and reset are those from before.
local function look(position)
  local algorithm, k, cost, limit, window, per_unit, per_us = unpack_from(CHARGE, batches, position)
  local step, a, b, c, d = steps[algorithm], A[k], B[k], C[k], D[k]
  local verdict, remaining, reset, retry, level =
      step(a, b, c, d, 0, limit, window, per_unit, per_us, 0)
  if cost > 0 then
    local _
    verdict, _, _, retry, level = step(a, b, c, d, cost, limit, window, per_unit, per_us, 0)
  end
  return verdict, remaining, reset, retry, level
end

-- Each charge's decision, five numbers in a row; the reply when all are known.
local told = {}

local function keep(index, verdict, remaining, reset, retry, level)
  told[index * 5 + 1], told[index * 5 + 2], told[index * 5 + 3] = verdict, remaining, reset
  told[index * 5 + 4], told[index * 5 + 5] = retry, level
  return verdict ~= ALLOWED
end

local function tell_kept(count)
  for at = 0, count * 5 - 5, 5 do tell(unpack(told, at + 1, at + 5)) end
end

-- Notes a denial where the algorithm counts them.
local function record_denial(position)
  local algorithm, k, _, limit, window = unpack_from(CHARGE, batches, position)
  if algorithm ~= BACKOFF or limit == 0 then return end
  local a, b, c, d = backoff_rolled(A[k], B[k], C[k], D[k], window, now)
  local changed, _
  _, _, _, _, _, changed, a, b, c, d =
      backoff_denied(a, b, c, d, 1, limit, window, a < A[k] or c < C[k])
  if changed then store(k, window, a, b, c, d) end
end

-- Charges one after the other. The first that does not fit after all, because its key
-- comes twice, undoes the others; its index is returned.
local function spend_in_turn(position, count)
  local before = {}
  for index = 0, count - 1 do
    local at = position + index * CHARGE_SIZE
    local _, k = unpack_from('<I1I2', batches, at)
    before[index] = {k, windows[k], A[k], B[k], C[k], D[k]}
    local verdict, remaining, reset, retry, level = spend(at)
    if verdict ~= ALLOWED then
      for undone = index, 0, -1 do
        store(unpack(before[undone], 1, 6))
      end
      return index, verdict, remaining, reset, retry, level
    end
    before[index].decision = {verdict, remaining, reset, retry, level}
  end
  for index = 0, count - 1 do keep(index, unpack(before[index].decision)) end
end

local function spend_all(position, count)
  local denied = false
  for index = 0, count - 1 do
    if keep(index, look(position + index * CHARGE_SIZE)) then denied = true end
  end
  if not denied then
    local index, verdict, remaining, reset, retry, level = spend_in_turn(position, count)
    if index then keep(index, verdict, remaining, reset, retry, level) end
    denied = index ~= nil
  end
  if denied then
    for index = 0, count - 1 do
      if told[index * 5 + 1] == DENIED then record_denial(position + index * CHARGE_SIZE) end
    end
  end
  tell_kept(count)
end

local function reset(position)
  local algorithm, k, _, _, window = unpack_from(CHARGE, batches, position)
  algorithms[k], windows[k] = algorithm, window
  make_fresh(k, algorithm)
  foreign[k], raw[k] = false, raw[k] or foreign[k] and ''
  tell(look(position))
end

-- Grants up to the cost, at most a share of what remains, but one if one is left. What is
-- granted may be spent at any time until the lease ends, so it is charged as of its end:
-- where windows count, that is the window's at the latest.
local function lease(position, share, length)
  local algorithm, k, cost, limit, window, per_unit, per_us = unpack_from(CHARGE, batches, position)
  local step = steps[algorithm]
  local _, remaining = step(A[k], B[k], C[k], D[k], 0, limit, window, per_unit, per_us, 0)
  local units = min(cost, max(1, floor(remaining / share)))
  length = min(length, window)
  local verdict, left, reset_after, retry, level, changed, a, b, c = step(
      A[k], B[k], C[k], D[k], units, limit, window, per_unit, per_us, length)
  if changed then store(k, window, a, b, c) end
  tell(verdict, left, reset_after, retry, level)
  if verdict ~= ALLOWED then units, length = 0, 0 end
  local counts_by_window = algorithm ~= LOG and algorithm ~= BUCKET
  if units > 0 and counts_by_window then length = min(length, a + window - now) end
  put(units)
  put(length)
end

-- A bucket's debt and more, but not so much that nobody would believe it.
local function charge_bucket(a, b, cost, limit, window, per_unit, per_us)
  local debt, debt_ticks = a - now, min(b, per_us - 1)
  if debt < 0 then debt, debt_ticks = 0, 0 end
  local most, most_ticks = mul_div(limit, per_unit, 0, per_us)
  most = most + window
  if cost * per_unit / per_us > most then return now + most, most_ticks end
  local price, price_ticks = mul_div(cost, per_unit, 0, per_us)
  debt, debt_ticks = debt + price, debt_ticks + price_ticks
  if debt_ticks >= per_us then debt, debt_ticks = debt + 1, debt_ticks - per_us end
  if debt > most or (debt == most and debt_ticks > most_ticks) then
    debt, debt_ticks = most, most_ticks
  end
  return now + debt, debt_ticks
end

-- Charges whatever the limit says, and tells the state.
local function sync(position)
  local algorithm, k, cost, limit, window, per_unit, per_us = unpack_from(CHARGE, batches, position)
  if cost > 0 and algorithm == BUCKET then
    store(k, window, charge_bucket(A[k], B[k], cost, limit, window, per_unit, per_us))
  elseif cost > 0 then
    local _, _, _, _, _, changed, a, b, c =
        steps[algorithm](A[k], B[k], C[k], D[k], cost, 2 ^ 50, window)
    if changed then store(k, window, a, b, c) end
  end
  put(ALLOWED)
  put(A[k])
  put(B[k])
  put(C[k])
end

-- What is wrong with a charge of the batch, if anything: then none of it is decided.
local function load_batch(operation, position, count)
  for at = position, position + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do
    local algorithm, low, high = byte(batches, at, at + 2)
    if operation ~= 3 then
      local failure = load_key(low + 256 * high, algorithm)
      if failure then return failure end
    end
    if operation == 4 and algorithm == BACKOFF then return UNSUPPORTED end
    if operation == 5 and (algorithm == BACKOFF or algorithm == LOG) then return UNSUPPORTED end
  end
end

local function decide_each(action, position, count)
  for at = position, position + (count - 1) * CHARGE_SIZE, CHARGE_SIZE do tell(action(at)) end
end

-- Returns where the next batch begins.
local function decide_batch(position)
  local operation, count = byte(batches, position, position + 1)
  local share, length, ends
  position = position + 2
  if operation == 4 then share, length, position = unpack_from('<i8i8', batches, position) end
  if operation == 6 then ends, position = unpack_from('<i8', batches, position) end
  local behind = position + count * CHARGE_SIZE
  local failure = load_batch(operation, position, count)
  if failure then
    put(failure * 4 + FAILED)
  elseif operation == 0 or (operation == 1 and count == 1) then
    decide_each(spend, position, count)
  elseif operation == 1 then
    spend_all(position, count)
  elseif operation == 2 then
    decide_each(look, position, count)
  elseif operation == 6 then
    -- What is left of a lease goes back only while its own charge is there to be undone.
    decide_each(now < ends and spend or look, position, count)
  else
    for at = position, behind - 1, CHARGE_SIZE do
      if operation == 3 then
        reset(at)
      elseif operation == 4 then
        lease(at, share, length)
      else
        sync(at)
      end
    end
  end
  return behind
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
