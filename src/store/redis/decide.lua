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
local HELD_FORMAT, HELD_SIZE = '<I1i8i8i8i8', 33  -- of a bucket of which something is held

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
  local format = formats[algorithm]
  if algorithm == BUCKET and size == HELD_SIZE then
    format = HELD_FORMAT
  elseif size ~= sizes[algorithm] then
    return UNREADABLE
  end
  local tag, a, b, c, d = unpack_from(format, bytes)
  if tag ~= tags[algorithm] or a < 0 or a > 9007199254740992 then return UNREADABLE end
  if algorithm == LOG then
    a, b, c, d = sub(bytes, 10), a, 0, 0
  elseif b < 0 or b > 9007199254740992 or c < 0 or c > 9007199254740992 then
    return UNREADABLE  -- c of the shorter ones is where the next byte would be
  end
  if algorithm == WINDOW or format == formats[BUCKET] then c, d = 0, 0 end
  A[k], B[k], C[k], D[k] = a, b, c, d or 0
end

-- Of a bucket what is held stays.
local function store(k, window, a, b, c, d)
  A[k], B[k], C[k], D[k], windows[k] = a, b, c or C[k], d or D[k], window
end

local function expiry(k, window)
  local algorithm, a, b, c = algorithms[k], A[k], B[k], C[k]
  if algorithm == BUCKET then
    local full = b > 0 and a + 1 or a
    return D[k] > 0 and max(full, C[k] + epoch_of(window)) or full
  end
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
      elseif algorithm == BUCKET and D[k] > 0 then
        bytes = pack(HELD_FORMAT, tags[algorithm], A[k], B[k], C[k], D[k])
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

-- What has been spent of long leases, or came back, is held no more; of leases that have
-- ended it is not told in time. The older units go first: the others are held rather longer.
local function settle(position, units, ends)
  local algorithm, k, _, _, window = unpack_from(CHARGE, batches, position)
  if algorithm ~= BUCKET or D[k] == 0 or units == 0 or now >= ends then return end
  local c, newer, older = held_now(C[k], D[k], window)
  local of_older = min(units, older)
  newer = max(0, newer - (units - of_older))
  C[k], D[k], windows[k] = c, (older - of_older) * HELD_MAX + newer, window
end

-- How many units a long lease may have: of what remains a smaller share than else, and of a
-- bucket what is held stays below an eighth.
local LONG_PART, HELD_PART = 4, 8

local function units_of_long(k, algorithm, cost, limit, window, remaining, share)
  local units = min(cost, floor(remaining / (LONG_PART * share)))
  if algorithm == BUCKET then
    local _, newer, older = held_now(C[k], D[k], window)
    units = min(units, min(floor(limit / HELD_PART), HELD_MAX - 1) - newer - older)
  end
  return units
end

-- Grants up to the cost: at most a share of what remains, but what is needed at once, and one,
-- if so many are left. What is granted may be spent at any time until the lease ends. So it
-- is charged as of its end; but where windows count, that is the window's at the latest, and
-- a bucket remembers what long leases hold.
-- Tells of the key; if less was granted than is needed, what one unit more is told.
local function lease(position, terms)
  local algorithm, k, cost, limit, window, per_unit, per_us = unpack_from(CHARGE, batches, position)
  local step, a, b, c, d = steps[algorithm], A[k], B[k], C[k], D[k]
  local _, remaining = step(a, b, c, d, 0, limit, window, per_unit, per_us, 0)
  local needed = max(1, min(terms.needed, remaining))
  local units = min(cost, max(needed, floor(remaining / terms.share)))
  local late = min(terms.length, window)
  local few = 0
  if terms.long > 0 then
    few = units_of_long(k, algorithm, cost, limit, window, remaining, terms.share)
  end
  local is_long = few >= max(2, needed)
  if is_long then units, late = few, min(terms.long, epoch_of(window)) end
  local length = late
  if is_long and algorithm == BUCKET then late = 0 end
  local verdict, left, reset_after, retry, level, changed, new_a, new_b, new_c = step(
      a, b, c, d, units, limit, window, per_unit, per_us, late)
  if changed then store(k, window, new_a, new_b, new_c) end
  if verdict ~= ALLOWED then
    units, length, is_long = 0, 0, false
  elseif is_long and algorithm == BUCKET then
    local ends, newer, older = held_now(c, d, window)
    C[k], D[k] = ends, older * HELD_MAX + newer + units
  end
  if units > 0 and units < terms.needed then
    verdict, _, _, retry, level =
        step(A[k], B[k], C[k], D[k], 1, limit, window, per_unit, per_us, 0)
  end
  tell(verdict, left, reset_after, retry, level)
  local counts_by_window = algorithm ~= LOG and algorithm ~= BUCKET
  if units > 0 and counts_by_window then length = min(length, new_a + window - now) end
  put(units)
  put(length)
  put(is_long and 1 or 0)
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
  if algorithm == BUCKET and D[k] > 0 then
    A[k], B[k] = full_but_for_held(A[k], B[k], C[k], D[k], window, per_unit, per_us)
  end
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

local terms = {}  -- of leases

-- Returns where the next batch begins.
local function decide_batch(position)
  local operation, count = byte(batches, position, position + 1)
  local settled, ends
  position = position + 2
  if operation == 4 then
    terms.share, terms.needed, terms.length, terms.long, settled, ends, position =
        unpack_from('<i8i8i8i8i8i8', batches, position)
  elseif operation == 6 then
    settled, ends, position = unpack_from('<i8i8', batches, position)
  end
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
    settle(position, settled, ends)
    decide_each(now < ends and spend or look, position, count)
  else
    for at = position, behind - 1, CHARGE_SIZE do
      if operation == 3 then
        reset(at)
      elseif operation == 4 then
        settle(at, settled, ends)
        lease(at, terms)
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
