-- One beat of a node: it is alive, or leaves; it knows the fleet's secret, and it exchanges
-- blocks.
--
-- KEYS  nodes, secret, blocks    of one slot
-- ARGV  this node's name, seconds without a beat until a node counts as gone,
--       the secret it brings, the id of the last block it has read,
--       "beats" or "leaves", and then
--       for each block to tell: its text, milliseconds until it ends
-- Returns how many nodes are alive, the secret, the time in milliseconds, the blocks told
-- since (id, whose first part is when it was told, node, text, and what was left then), at
-- most 256 of them, and 1 if the secret is the one it brought: Redis had none.
local alive_s = tonumber(ARGV[2])
local time = redis.call('TIME')
local now_s = tonumber(time[1])
-- Who leaves counts as not heard for long.
redis.call('ZADD', KEYS[1], ARGV[5] == 'leaves' and 0 or now_s, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. (now_s - alive_s))
redis.call('EXPIRE', KEYS[1], 10 * alive_s)

-- The first node's secret is everybody's.
local brought = redis.call('SETNX', KEYS[2], ARGV[3])

for i = 6, #ARGV, 2 do
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', 65536, '*', 'node', ARGV[1],
             'block', ARGV[i], 'left', ARGV[i + 1])
  -- The stream lives as long as the longest block in it.
  local left_ms = math.max(tonumber(ARGV[i + 1]), 1000)
  if redis.call('PTTL', KEYS[3]) < left_ms then redis.call('PEXPIRE', KEYS[3], left_ms) end
end

local told = {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[3], '(' .. ARGV[4], '+', 'COUNT', 256)) do
  told[#told + 1] = entry[1]
  for field = 2, 6, 2 do told[#told + 1] = entry[2][field] or '' end
end
local now_ms = now_s * 1000 + math.floor(tonumber(time[2]) / 1000)
return {redis.call('ZCARD', KEYS[1]), redis.call('GET', KEYS[2]), now_ms, told, brought}
