-- Slots that cores of nodes have on lease: src/store/redis/slots says how they use them.
--
-- A key's leased slots are in a hash, KEY:slots. Each core that has or wants slots is a field of 8
-- bytes, its number. The value is
--   count, needed  slots that it has, and that it needs
--   ends, since    when its lease ends, and since when it has had slots without a gap
--   number         of its last errand: an earlier one that comes late changes nothing
-- The field 'n' with the number behind it has the tokens that were released at other nodes, until
-- the core has heard of them.
--
-- PREFIXslots says which run of a server this is, and since when. Another run may have forgotten
-- the last leases. So for one lease it grants no more than cores say that they keep.
local function make_slots(of)
  local ALLOWED, DENIED, NEVER, FAILED = 0, 1, 2, 3
  local FOREIGN_TYPE, UNSUPPORTED = 1, 3
  local LEND, END_SLOT = 12, 13
  local TERMS_SIZES = {[LEND] = 72, [END_SLOT] = 40}
  local CHARGE_SIZE, ENTRY, ENTRY_SIZE = 47, '<i8i8i8i8i8', 40
  local TOKEN_SIZE, TOLD_MAX, TOKENS_MAX = 16, 8, 4096
  local NO_TOKEN = string.rep('\0', TOKEN_SIZE)
  local floor, max, min = math.floor, math.max, math.min
  local pack, unpack_from, sub = struct.pack, struct.unpack, string.sub
  local batches, put = ARGV[2], of.put

  local function text_of(number) return string.format('%.0f', number) end

  -- Until when this server grants no new slots; nil if it does not say who it is.
  local runs_since
  local function gathers_until(name, length)
    if runs_since then return runs_since + length end
    local told = redis.pcall('INFO', 'server')
    local run = type(told) == 'string' and string.match(told, 'run_id:(%x+)')
    if not run then return end
    local marker = string.match(name, '^[^{]*') .. 'slots'
    local known = redis.pcall('GET', marker)
    local of_run, since = string.match(type(known) == 'string' and known or '', '^(%x+) (%d+)$')
    if of_run ~= run then
      since = text_of(now)
      redis.call('SET', marker, run .. ' ' .. since)
    end
    runs_since = tonumber(since)
    return runs_since + length
  end

  -- One core's slots, and the slots that all others have and need.
  local function read(name, core)
    local all = redis.pcall('HGETALL', name)
    if all.err then return end
    local own, others, needs, first_end, last_end = nil, 0, {}, 2 ^ 53, now
    local cores = {}
    for i = 1, #all, 2 do
      local field, value = all[i], all[i + 1]
      if #field == 8 and #value == ENTRY_SIZE then
        local count, needed, ends, since, number = unpack_from(ENTRY, value)
        if ends <= now then
          redis.call('HDEL', name, field, 'n' .. field)
        elseif field == core then
          own = {count = count, since = since, number = number}
        else
          others = others + count
          needs[#needs + 1], cores[#cores + 1] = needed, field
          if count > 0 then first_end = min(first_end, ends) end
          last_end = max(last_end, ends)
        end
      end
    end
    return own, others, needs, first_end, last_end, cores
  end

  -- The core's part, if all need more slots than there are. Cores that need less than their part
  -- leave the rest to the others. Slots that do not divide go round: each turn to other cores.
  local function fair_part(limit, needs, cores, core, turn)
    local sum = 0
    for i = 1, #needs do sum = sum + needs[i] end
    if sum <= limit then return end
    local sorted = {unpack(needs)}
    table.sort(sorted)
    local left, many = limit, #sorted
    while sorted[#sorted - many + 1] * many <= left do
      left, many = left - sorted[#sorted - many + 1], many - 1
    end
    local rank = turn
    for i = 1, #needs do
      if needs[i] * many > left and cores[i] < core then rank = rank + 1 end
    end
    return floor(left / many) + (rank % many < left % many and 1 or 0)
  end

  local function grant(limit, kept, needed, wanted, others, part)
    local count = min(wanted, kept)
    local room = max(0, limit - others - count)
    local more = min(room, max(0, min(needed, part or limit) - count))
    local ahead = part and 0 or min(floor((room - more) / 2), max(0, wanted - count - more))
    return count + more + ahead
  end

  -- The tokens behind the last one that the core has heard of.
  local function tell_released(name, core, heard)
    local field = 'n' .. core
    local tokens = redis.call('HGET', name, field) or ''
    for at = 1, heard ~= NO_TOKEN and #tokens or 0, TOKEN_SIZE do
      if sub(tokens, at, at + TOKEN_SIZE - 1) == heard then
        tokens = sub(tokens, at + TOKEN_SIZE)
        if tokens == '' then redis.call('HDEL', name, field)
        else redis.call('HSET', name, field, tokens) end
        break
      end
    end
    local told = min(TOLD_MAX, floor(#tokens / TOKEN_SIZE))
    put(told)
    for i = 0, told * 4 - 1 do put((unpack_from('<I4', tokens, 1 + 4 * i))) end
  end

  local function lend(name, limit, terms)
    local core = sub(batches, terms, terms + 7)
    local number, kept, since, needed, wanted, length = unpack_from('<i8i8i8i8i8i8', batches,
                                                                    terms + 8)
    local heard = sub(batches, terms + 56, terms + 71)
    local own, others, needs, _, last_end, cores = read(name, core)
    if not others then return FOREIGN_TYPE end
    local gathers = gathers_until(name, length)
    if not gathers then return UNSUPPORTED end
    local is_late = own and own.number >= number
    if is_late then kept, needed, wanted = 0, 0, 0 end
    needs[#needs + 1], cores[#cores + 1] = needed, core
    local part = fair_part(limit, needs, cores, core, floor(now / length))
    local count, ends = 0, now + length
    if now < gathers then
      count = kept
    else
      local goes_on = own and own.since == since
      kept = goes_on and min(kept, own.count) or 0
      count = grant(limit, kept, needed, wanted, others, part)
    end
    if kept == 0 then since = now end
    if not is_late and count == 0 and needed == 0 then
      redis.call('HDEL', name, core, 'n' .. core)
    elseif not is_late then
      redis.call('HSET', name, core, pack(ENTRY, count, needed, ends, since, number))
      local left_ms = floor((max(last_end, ends) - now) / 1000) + 1
      redis.call('PEXPIRE', name, text_of(left_ms + (ARGV[1] == '' and 0 or 4503599627370)))
    end
    put(0)
    put(count)
    put(part or limit)
    put(others)
    put(since)
    put(length)
    put(max(0, gathers - now))
    tell_released(name, core, heard)
  end

  -- Tells the core that has lent the slot; it hears of that with its next errand.
  local function end_slot(name, terms)
    local ENDED, UNKNOWN = 0, 2
    local token, core = sub(batches, terms, terms + 15), sub(batches, terms + 16, terms + 23)
    local since, ends = unpack_from('<i8i8', batches, terms + 24)
    local own, others = read(name, core)
    if not others then return FOREIGN_TYPE end
    local field = 'n' .. core
    local tokens = redis.call('HGET', name, field) or ''
    local is_good = own and own.since == since and now < ends and #tokens < TOKENS_MAX * TOKEN_SIZE
    for at = 1, #tokens, TOKEN_SIZE do
      is_good = is_good and sub(tokens, at, at + TOKEN_SIZE - 1) ~= token
    end
    if is_good then redis.call('HSET', name, field, tokens .. token) end
    put(4 * (is_good and ENDED or UNKNOWN))
  end

  -- The slots that nodes have, answered like a look at held units.
  local function look(name, limit)
    local _, others, needs, first_end, last_end = read(name)
    if not others then return FOREIGN_TYPE end
    local left = max(0, limit - others)
    local verdict = limit == 0 and NEVER or left == 0 and DENIED or ALLOWED
    of.tell(verdict, left, last_end - now, max(1, first_end - now), 0, 0)
    put(others)
    put(others)
    put(others > 0 and first_end - now or 0)
  end

  -- Returns where the next batch begins.
  return function(operation, terms)
    local first = terms + (TERMS_SIZES[operation] or 0)
    local _, k, _, limit = unpack_from('<I1I2i8i8', batches, first)
    local name, failure = KEYS[k] .. ':slots'
    if operation == LEND then
      failure = lend(name, limit, terms)
    elseif operation == END_SLOT then
      failure = end_slot(name, terms)
    else
      failure = look(name, limit)
    end
    if failure then put(failure * 4 + FAILED) end
    return first + CHARGE_SIZE
  end
end

