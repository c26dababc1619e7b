-- One beat of a node. It carries fields, each by its name: this node's words, and the words of the
-- others. A field is a function here, and a BeatField in C++; it has a key of its own, which nodes
-- that do not know it leave alone.
--
-- Fields behind the field "news" say nothing new. The script passes one over if nobody has changed
-- it since the news that the node knows. The news are the microsecond in which they began, and then
-- for each field changed since, after a blank: its name, "=" and the microsecond of its last
-- change. A node whose news began at another time, or that has none, hears all.
--
-- KEYS  one for each field, in their order; of one slot.
-- ARGV  for each field: its name, how many words it says, and its words.
-- Returns for each field its name and the answer to it.
local time = redis.call('TIME')
local now_s = tonumber(time[1])
local now_us = now_s * 1000000 + tonumber(time[2])
local fields = {}
local changed = {}  -- names of fields

-- A number in a text that others may have written.
local function digits_of(text)
  return text and #text <= 16 and string.match(text, '^%d+$') or nil
end

-- Nodes by the second in which each has beaten last. A node that leaves was heard last long ago.
--
-- Says   this node's name, seconds without a beat until a node is silent and until nobody speaks
--        of it, and "beats", "leaves", or "keeps", to beat and let the key live on
-- Hears  how many nodes are alive, how many silent, and the microseconds since the oldest of all
--        their last beats
local alive = 0
function fields.nodes(key, first)
  local word, silent_since = ARGV[first + 3], now_s - tonumber(ARGV[first + 2])
  local now = now_us / 1000000
  local alive_since = now - tonumber(ARGV[first + 1])
  local score = word == 'leaves' and 0 or string.format('%.6f', now)
  if redis.call('ZADD', key, score, ARGV[first]) == 1 or word ~= 'beats' then
    redis.call('EXPIRE', key, 2 * tonumber(ARGV[first + 2]))
  end
  local function heard_at(rank)
    return tonumber(redis.pcall('ZRANGE', key, rank, rank, 'WITHSCORES')[2])
  end
  local oldest = heard_at(0)
  if oldest and oldest < silent_since then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('(%.6f', silent_since))
    oldest = heard_at(0)
  end
  if not oldest then  -- a user may lack the command: nobody knows who is silent
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('(%.6f', alive_since))
    alive = redis.call('ZCARD', key)
    return {alive, -1, 0}
  end
  -- Finds the first node that is alive.
  local size = redis.call('ZCARD', key)
  local low, high = 0, oldest < alive_since and size or 0
  while low < high do
    local middle = math.floor((low + high) / 2)
    if heard_at(middle) < alive_since then low = middle + 1 else high = middle end
  end
  alive = size - low
  return {alive, low, math.max(0, math.floor((now - oldest) * 1000000))}
end

-- Seconds are those of Redis's clock. A node's word counts for the last whole second. Nodes read a
-- second when the next one is over, too, and no node writes to it any more. In a large fleet one
-- node then reads all words of a second and writes their sum, and the others read the sum.
--
-- Says   this node's name, its counts (traffic_field.h; empty: none), the last second it has read,
--        with how many nodes a fleet is large; and if it adds up a second: which, where to read on,
--        and the second's sum, if it has read all
-- Hears  the time in microseconds; 1 if Redis has taken the counts, 0 if it had some for that
--        second; of the second that this node is to add up: which, where to read on, and names and
--        counts of some nodes, or nothing; then for each second since: which, and names and counts
--        of nodes, in a large fleet an empty name and the sum of all.
--        In place of the 1, or of names and counts: what is wrong, in words. Texts that others have
--        written there do not take away the other fields.
function fields.traffic(key, first, last)
  local ADDS_FOR_MS, PIECE = 300, 256
  local bytes = 0
  local function attempt(...)
    local found = redis.pcall(...)
    return type(found) == 'table' and found.err or found
  end
  local function words_of(second, from, count)
    local found = attempt('HSCAN', key .. ':' .. second, from, 'COUNT', count)
    if type(found) ~= 'table' then return found end
    local words = found[2]
    for i = 1, #words, 2 do
      -- No node has such a name, or says so much.
      if #words[i] > 64 or #words[i + 1] > 4096 then words[i], words[i + 1] = '', '' end
      bytes = bytes + #words[i] + #words[i + 1]
    end
    return words, found[1]
  end
  local function piece_of(second, from)
    local words, next = words_of(second, from, PIECE)
    if not next then return {} end
    table.insert(words, 1, next)
    table.insert(words, 1, second)
    return words
  end

  local told = {now_us, 0, {}}
  if ARGV[first + 1] ~= '' then
    local mine = key .. ':' .. now_s - 1
    told[2] = attempt('HSETNX', mine, ARGV[first], ARGV[first + 1])
    if told[2] == 1 then redis.call('EXPIRE', mine, 20) end
  end
  local is_large = alive > tonumber(ARGV[first + 3])
  if last > first + 3 and tonumber(ARGV[first + 4]) == now_s - 2 then
    if ARGV[first + 6] ~= '' then
      attempt('SET', key .. ':' .. now_s - 2 .. ':sum', ARGV[first + 6], 'NX', 'EX', 20)
    else
      told[3] = piece_of(now_s - 2, ARGV[first + 5])
    end
  end
  for second = math.max(tonumber(ARGV[first + 2]) + 1, now_s - 11), now_s - 2 do
    local found
    if is_large then
      local sum = attempt('GET', key .. ':' .. second .. ':sum')
      if not sum and second == now_s - 2 then
        local adds = key .. ':' .. second .. ':adds'
        local is_free = #told[3] == 0
            and type(attempt('SET', adds, ARGV[first], 'NX', 'PX', ADDS_FOR_MS)) == 'table'
        if is_free then told[3] = piece_of(second, 0) end
        break
      end
      found = sum and {'', #sum <= 65536 and sum or ''} or {}
    else
      found = words_of(second, 0, 128)
    end
    -- The next beat reads the rest.
    if bytes > 393216 and #told > 3 then break end
    told[#told + 1] = second
    told[#told + 1] = found
  end
  return told
end

-- A key of another type, or a user without the rights, takes away that field only.
local NEEDED = {nodes = true, secret = true, blocks = true, traffic = true}
local function answer_to(name, key, first, last)
  if NEEDED[name] then return fields[name](key, first, last) end
  local is_fine, told = pcall(fields[name], key, first, last)
  if is_fine then return told end
  return type(told) == 'table' and told.err or tostring(told)
end

-- Answers the fields in turn. False: the next one's function is not made yet.
local heard, field_at, at = {}, 1, 1
local news, news_key, known
local function is_known(name)
  if not known or not news or changed[name] then return false end
  if news == known then return true end
  local last = ' ' .. name .. '=(%d+)'
  return string.match(news, '^%d+') == string.match(known, '^%d+')
      and string.match(news, last) == string.match(known, last)
end
local function answer_all()
  while field_at <= #KEYS do
    local name, key, first = ARGV[at], KEYS[field_at], at + 2
    local last = at + 1 + tonumber(ARGV[at + 1])
    if name == 'news' then
      news, news_key, known = redis.pcall('GET', key), key, ARGV[first]
      if type(news) ~= 'string' or #news > 256 or not digits_of(string.match(news, '^[^ ]+')) then
        news = nil  -- somebody else has written it: it is replaced
      end
      if news == known and not next(changed) then break end
    elseif not is_known(name) then
      if not fields[name] then return false end
      heard[#heard + 1] = name
      heard[#heard + 1] = answer_to(name, key, first, last)
    end
    field_at, at = field_at + 1, last + 1
  end
  if news_key then
    if not news or next(changed) then
      local now = string.format('%.0f', now_us)
      news = news or now
      for name in pairs(changed) do
        news = string.gsub(news, ' ' .. name .. '=%d+', '') .. ' ' .. name .. '=' .. now
      end
      redis.call('SET', news_key, news)
    end
    heard[#heard + 1] = 'news'
    heard[#heard + 1] = news
  end
  return true
end

-- Most beats need no more. Making a function takes as long as calling one: the functions of the
-- other fields follow in beat_fields.lua.
if answer_all() then return heard end
