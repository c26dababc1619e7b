-- The end of the script that begins in beat.lua: the fields that most beats pass over.

-- Names in a hash of nodes. If there are more, somebody else writes there.
local NODES_MAX = 4096

-- All nodes use the first node's secret. A secret that a fleet has had for longer takes its place:
-- a Redis that lost it may have taken that of a node which has just begun.
--
-- Says   the secret that it brings, and since when a fleet has it, if one has.
-- Hears  the fleet's secret, the second in which this Redis took it, and since when a fleet has it,
--        in microseconds. The second is another one if this Redis has lost its data.
function fields.secret(key, first)
  local said, since = ARGV[first], tonumber(digits_of(ARGV[first + 1]))
  local there = redis.call('MGET', key, key .. ':born', key .. ':since')
  local born, taken_s = tonumber(digits_of(there[2])), digits_of(there[3])
  local found = there[1] or redis.call('GET', key)  -- which fails if it is no text
  local is_taken = not found or since and (not born or since < born)
  if is_taken and found ~= said then
    taken_s = string.format('%.0f', now_s)
    redis.call('SET', key .. ':since', taken_s)
    redis.call('SET', key, said)
  end
  if is_taken or not born then
    changed.secret = true
    found, born = is_taken and said or found, since or now_us
    redis.call('SET', key .. ':born', string.format('%.0f', born))
  end
  return found .. (taken_s or '') .. string.format(' %.0f', born)
end

-- Says   this node's name, the id of the last act that it has read and that act's epoch, and then
--        for each new act, a block or a lift: its bytes, milliseconds until it ends, milliseconds
--        until nobody needs to know it
-- Hears  the time in milliseconds, the epoch, and up to 256 acts sent since: id (its first part is
--        when it was sent), node, bytes, and the time that was left then. After another epoch it
--        hears them from the start. The epoch is when a node last found that this Redis had lost
--        acts that the node had read, in microseconds; at first, when a node first came.
function fields.blocks(key, first, last)
  local last_read, known = string.match(ARGV[first + 1], '^(%S+) ?(%d*)$')
  for i = first + 2, last, 3 do
    changed.blocks = true
    redis.call('XADD', key, 'MAXLEN', '~', 65536, '*', 'node', ARGV[first],
               'block', ARGV[i], 'left', ARGV[i + 1])
    -- The stream lives as long as the longest act in it.
    local left_ms = tonumber(ARGV[i + 2])
    if redis.call('PTTL', key) < left_ms then redis.call('PEXPIRE', key, left_ms) end
  end
  local function acts() return redis.call('XRANGE', key, last_read, '+', 'COUNT', 257) end
  local epoch, found = tonumber(digits_of(redis.call('GET', key .. ':epoch'))), acts()
  local is_there = last_read == '0-0' or found[1] and found[1][1] == last_read
  if not epoch or not is_there then
    epoch, changed.blocks = now_us, true
    redis.call('SET', key .. ':epoch', string.format('%.0f', epoch))
  end
  if known ~= string.format('%.0f', epoch) and last_read ~= '0-0' then
    last_read = '0-0'
    found = acts()
  end
  local told = {math.floor(now_us / 1000), epoch}
  local before = last_read == '0-0' and 0 or 1
  for at = 1 + before, math.min(#found, 256 + before) do
    local entry = found[at]
    -- By name, as another node may send more of a block.
    local by_name = {}
    for i = 1, #entry[2], 2 do by_name[entry[2][i]] = entry[2][i + 1] end
    told[#told + 1] = entry[1]
    told[#told + 1] = by_name.node or ''
    told[#told + 1] = by_name.block or ''
    told[#told + 1] = by_name.left or ''
  end
  return told
end

-- The algorithms that rules follow after a switch (switches_field.h describes the hash).
--
-- Says   the epoch and the stamp up to which it has read, and then for each switch: the rule,
--        the number of the switch that it replaces at most, its own number, since when and why
-- Hears  the time in microseconds, the epoch, the stamp up to which this is all, and rule and
--        entry of up to 256 later switches. In place of all that: what is wrong. Texts that others
--        have written there do not take away the other fields.
function fields.switches(key, first, last)
  local function whole(number) return string.format('%.0f', number) end
  -- 0 for a broken entry. Switches are seconds apart, so no number is above the time; a forged
  -- number leaves room for the next.
  local function number_in(entry)
    local number = tonumber(string.match(entry or '', '^%d+ (%d+) '))
    return number and number <= now_s and number or 0
  end

  local head = redis.call('HMGET', key, 'epoch', 'stamp')
  local epoch, stamp = digits_of(head[1]) or '', tonumber(digits_of(head[2])) or 0
  -- No clock can have made this stamp: all begins again.
  if stamp > now_us + 3600000000 then epoch, stamp = '', 0 end
  local from = ARGV[first] == epoch and tonumber(ARGV[first + 1]) or 0
  if last == first + 1 and stamp <= from then return {now_us, epoch, whole(stamp)} end

  -- Entries of somebody else must not keep Redis busy.
  local RULES_MAX = 4096
  if redis.call('HLEN', key) > 2 * RULES_MAX then return 'it has more rules than a fleet has' end
  for i = first + 2, last, 4 do
    local rule, number = ARGV[i], tonumber(ARGV[i + 2])
    local there = number_in(redis.call('HGET', key, rule))
    local has_room = there > 0 or redis.call('HLEN', key) < RULES_MAX
    if there <= tonumber(ARGV[i + 1]) and number <= now_s and has_room then
      stamp = math.max(stamp + 1, now_us)
      if epoch == '' then epoch = whole(now_us) end
      local entry = table.concat({whole(stamp), whole(number), ARGV[i + 3]}, ' ')
      redis.call('HSET', key, 'epoch', epoch, 'stamp', whole(stamp), rule, entry)
      changed.switches = true
      -- Longer than any state of a key; states know the number of their switch.
      redis.call('EXPIRE', key, 2 * 366 * 86400)
    end
  end

  if ARGV[first] ~= epoch then from = 0 end
  local told = {now_us, epoch, whole(stamp)}
  if stamp <= from then return told end
  local news, all = {}, redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local own = tonumber(string.match(all[i + 1], '^(%d+) ')) or stamp
    local is_entry = all[i] ~= 'epoch' and all[i] ~= 'stamp'
    if is_entry and own > from then
      news[#news + 1] = {own, string.sub(all[i], 1, 64), string.sub(all[i + 1], 1, 160)}
    end
  end
  table.sort(news, function(a, b) return a[1] < b[1] end)
  for i = 1, math.min(#news, 256) do
    told[#told + 1] = news[i][2]
    told[#told + 1] = news[i][3]
  end
  if #news > 256 then told[3] = whole(news[256][1]) end
  return told
end

-- Puts a node's word into a hash, and returns how many words are there now. If there are more than
-- NODES_MAX, somebody else writes there: the script deletes all.
local function put_word(key, node, word, kept_s)
  redis.call('HSET', key, node, word)
  redis.call('EXPIRE', key, kept_s)
  local size = redis.call('HLEN', key)
  if size > NODES_MAX then redis.call('DEL', key) end
  -- A long word makes it a table for good: Redis reads a list of short words from its start.
  if size == 1 then
    redis.call('HSET', key, '', string.rep(' ', 128))
    redis.call('HDEL', key, '')
  end
  return size
end

-- Each node's word is in a field of one hash, behind the second in which the node said it. Anybody
-- may write there: the script removes words that no node writes, and old words. If the fleet has
-- more nodes than a node reads, each node begins at its own place, always the same: a larger fleet
-- makes no beat dearer.
local function hear_of_others(key, node, alive_s, nodes_max, bytes_max, word)
  local size = put_word(key, node, now_s .. ' ' .. word, alive_s)
  if size > NODES_MAX then return {} end
  local told, is_told = {}, {[node] = true}
  local function hear(from)
    local found = redis.call('HSCAN', key, from, 'COUNT', nodes_max + 1)
    for i = 1, #found[2], 2 do
      local name, word = found[2][i], found[2][i + 1]
      local is_short = #name <= 64 and #word <= bytes_max + 32
      local said_s, words
      if is_short then said_s, words = word:match('^(%d+) (.*)$') end
      if not said_s or math.abs(now_s - tonumber(said_s)) > alive_s then
        redis.call('HDEL', key, name)
      elseif not is_told[name] and #told < 2 * nodes_max then
        is_told[name] = true
        told[#told + 1] = name
        told[#told + 1] = words
      end
    end
    return found[1]
  end
  local place = size > nodes_max + 1 and tonumber(redis.sha1hex(node):sub(1, 8), 16) or 0
  local is_at_end = hear(string.format('%.0f', place)) == '0'
  if is_at_end and place > 0 and #told < 2 * nodes_max then hear(0) end
  return told
end

-- The busiest keys, and the nodes' words about themselves.
--
-- Says   this node's name, seconds that a word counts, how many nodes to read and how many bytes of
--        each, its own word
-- Hears  for each other node its name and word. In place of all that: what is wrong.
function fields.busiest(key, first)
  return hear_of_others(key, ARGV[first], tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2]),
                        tonumber(ARGV[first + 3]), ARGV[first + 4])
end
fields.about = fields.busiest

-- Rules that somebody has changed by request: one version (RulesField).
--
-- Says   this node's name, its word of the version, the head of the version that it knows, "1" if
--        it wants to hear of the nodes, and then perhaps a version: number, head, bytes
-- Hears  the head of the current version, empty: there is none; its bytes, if it is neither the
--        version that the node knows nor the one that it says; for each living node its name and
--        word. In place of all that: what is wrong.
function fields.rules(key, first, last)
  local BYTES_MAX = 131072
  local start = redis.call('GETRANGE', key, 0, 40)
  local head = string.match(start, '^(%d+ %d+) ') or ''
  local number = tonumber(digits_of(string.match(head, '^%d+'))) or 0
  local is_news = start ~= '' and head ~= ARGV[first + 2]
  if is_news and (number == 0 or redis.call('STRLEN', key) > BYTES_MAX + 41) then
    return 'it holds something else'
  end
  local said = last > first + 3 and ARGV[first + 5] or ''
  if said ~= '' and number < tonumber(ARGV[first + 4]) then
    -- It outlives a fleet that is down for long.
    redis.call('SET', key, said .. ' ' .. ARGV[first + 6], 'EX', 2 * 366 * 86400)
    head, changed.rules = said, true
  end
  local words = key .. ':nodes'
  put_word(words, ARGV[first], ARGV[first + 1], 60)
  local told = {head, ''}
  if head ~= '' and head ~= said and head ~= ARGV[first + 2] then
    told[2] = string.sub(redis.call('GET', key), #head + 2)
  end
  if ARGV[first + 3] == '1' then
    local names = alive > 0 and redis.call('ZRANGE', KEYS[1], -math.min(alive, 256), -1) or {}
    local said = #names > 0 and redis.call('HMGET', words, unpack(names)) or {}
    for i = 1, #names do
      told[#told + 1] = string.sub(names[i], 1, 64)
      told[#told + 1] = string.sub(said[i] or '', 1, 512)
    end
  end
  return told
end

-- Keys that have used much of a limit: of the nodes that see the same, the first tells people.
--
-- Says   this node's name, and then for each: which key, limit and part, milliseconds until the
--        window ends, and how far the ends of two windows are apart at least
-- Hears  for each 1 if this node is to tell, else 0. In place of all that: what is wrong.
function fields.limits(key, first, last)
  local told = {}
  for i = first + 1, last, 3 do
    local name, left, apart = key .. ':' .. ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
    local ends = math.floor(now_us / 1000) + left
    local known, node = string.match(redis.call('GET', name) or '', '^(%d+) (.*)$')
    local is_new = not digits_of(known) or ends - tonumber(known) >= apart
    if is_new then
      redis.call('SET', name, string.format('%.0f %s', ends, ARGV[first]),
                 'PX', math.max(0, left) + apart + 1000)
    end
    told[#told + 1] = (is_new or node == ARGV[first]) and 1 or 0
  end
  return told
end

-- The table of tenants (TenantsField says what the keys hold).
--
-- Says   the place up to which it has read, the head that it knows, and then perhaps a step: its
--        name, the head that it replaces, the new head with the text behind it, this node's name,
--        how many buckets were put aside, and the buckets, each with its bytes
-- Hears  the current head; the text behind it, if the node does not know this head; 1 if the step
--        was done, and 2 more if the buckets of the head are gone; 1 if no bucket follows these;
--        and place, number and bytes of each bucket that has changed since that place, as many as
--        fit. In place of all that: what is wrong.
local TENANT_BUCKETS = 65536
local function put_buckets(rows, index, number, from, last)
  for i = from, last, 2 do
    redis.call('HSET', rows, ARGV[i], ARGV[i + 1])
    redis.call('ZADD', index, string.format('%.0f', number * TENANT_BUCKETS + ARGV[i]), ARGV[i])
  end
end
-- A Redis that evicts may have evicted only one of the keys.
local function is_torn(key, head)
  return head ~= '' and redis.call('EXISTS', key .. ':rows', key .. ':index') < 2
end
local function step_of_tenants(key, step, first, last)
  local new, node = ARGV[first], ARGV[first + 1]
  local number = tonumber(string.match(new, '^%d+'))
  local aside = key .. ':aside'
  if step == 'drop' then
    if redis.call('GET', aside) == node then
      redis.call('DEL', aside, aside .. ':rows', aside .. ':index')
    end
    return true
  end
  if step == 'aside' or step == 'switch' then
    if ARGV[first + 2] == '0' then
      if (redis.call('GET', aside) or node) ~= node then return false end
      redis.call('DEL', aside .. ':rows', aside .. ':index')
    elseif redis.call('GET', aside) ~= node then
      return false
    end
    put_buckets(aside .. ':rows', aside .. ':index', number, first + 3, last)
    if redis.call('HLEN', aside .. ':rows') < tonumber(ARGV[first + 2]) then return false end
    redis.call('SET', aside, node, 'EX', 5)
    for _, part in ipairs({':rows', ':index'}) do redis.call('EXPIRE', aside .. part, 60) end
    if step == 'aside' then return true end
    for _, part in ipairs({':rows', ':index'}) do
      redis.call('DEL', key .. part)
      if redis.call('EXISTS', aside .. part) == 1 then
        redis.call('RENAME', aside .. part, key .. part)
      end
    end
    redis.call('DEL', aside)
  else
    put_buckets(key .. ':rows', key .. ':index', number, first + 3, last)
  end
  redis.call('SET', key, new)
  -- It outlives a fleet that is down for long.
  for _, part in ipairs({'', ':rows', ':index'}) do
    redis.call('EXPIRE', key .. part, 2 * 366 * 86400)
  end
  return true
end
function fields.tenants(key, first, last)
  local all = redis.call('GET', key) or ''
  local head = string.match(all, '^(%d+ %d+) ') or ''
  if #all > 300 or #all > 0 and head == '' then return 'it holds something else' end
  local done = false
  local torn = is_torn(key, head)
  local may_change = ARGV[first + 3] == head and not (torn and ARGV[first + 2] == 'change')
  if last > first + 1 and (may_change or ARGV[first + 2] == 'drop') then
    local step = ARGV[first + 2]
    -- Rows whose head was evicted belong to no table.
    if head == '' and step == 'change' then redis.call('DEL', key .. ':rows', key .. ':index') end
    done = step_of_tenants(key, step, first + 4, last)
    if done and step ~= 'aside' and step ~= 'drop' then changed.tenants = true end
    all = redis.call('GET', key) or ''
    head = string.match(all, '^(%d+ %d+) ') or ''
    torn = is_torn(key, head)
  end
  local told = {head, '', (done and 1 or 0) + (torn and 2 or 0), 1}
  if head == ARGV[first + 1] or torn then return told end
  told[2] = string.sub(all, #head + 2)
  local found = redis.call('ZRANGEBYSCORE', key .. ':index', '(' .. ARGV[first], '+inf',
                           'WITHSCORES', 'LIMIT', 0, 512)
  local size = 0
  for i = 1, #found, 2 do
    local bytes = redis.call('HGET', key .. ':rows', found[i]) or ''
    if #bytes > 16384 then return 'a bucket of it is too long' end
    size = size + #bytes
    if size > 262144 or i == 1023 then told[4] = 0 end
    if size > 262144 then break end
    told[#told + 1] = string.format('%.0f', found[i + 1])
    told[#told + 1] = string.sub(found[i], 1, 16)
    told[#told + 1] = bytes
  end
  return told
end

answer_all()
return heard
