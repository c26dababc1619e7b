-- sliding_log.h, for Redis; see common.lua.
--
-- a: the entries; b: their units. A charge is entered as of now + late.
local function make_sliding_log()
  local ALLOWED, DENIED, NEVER = 0, 1, 2
  local max, min, pack, unpack_from = math.max, math.min, struct.pack, struct.unpack
  local sub = string.sub
  local ENTRIES_MAX = 1024

  -- The entries of a log: 16 bytes each, a time and units, oldest first.
  local function entry(log, index) return unpack_from('<i8i8', log, index * 16 + 1) end

  -- No entry later than now.
  local function moved_back(log)
    local entries = {}
    for index = 0, #log / 16 - 1 do
      local at, units = entry(log, index)
      entries[index + 1] = pack('<i8i8', min(at, now), units)
    end
    return table.concat(entries)
  end

  -- The log with one more entry, or more units in the newest. A full log merges its two oldest into
  -- the later one: it denies too early then, and never admits too much.
  local function recorded(log, at, units)
    local size = #log / 16
    if size > 0 then
      local newest, newest_units = entry(log, size - 1)
      if newest == at then
        return sub(log, 1, -17) .. pack('<i8i8', at, newest_units + units)
      end
    end
    if size >= ENTRIES_MAX then
      local _, oldest_units = entry(log, 0)
      local second, second_units = entry(log, 1)
      log = pack('<i8i8', second, oldest_units + second_units) .. sub(log, 33)
    end
    return log .. pack('<i8i8', at, units)
  end

  -- The log without expired entries, and without `units` of the oldest others. Summing up a log
  -- would take too long: its total may be wrong, and no step may rely on it.
  local function shortened(log, total, units, window)
    local first, size, gone = 0, #log / 16, now - window
    local head = ''
    while first < size do
      local at, held = entry(log, first)
      if at > gone then
        if units < held then
          if units > 0 then
            head, total, first = pack('<i8i8', at, held - units), total - units, first + 1
          end
          break
        end
        units = units - held
      end
      first, total = first + 1, total - held
    end
    if first == size and head == '' then return '', 0 end
    if first == 0 then return log, total end
    return head .. sub(log, first * 16 + 1), max(0, total)
  end

  -- The time of the entry after whose expiry `excess` fewer units count.
  local function in_the_way(log, excess)
    local index, last = 0, #log / 16 - 1
    local at, units = entry(log, 0)
    while excess > units and index < last do
      excess, index = excess - units, index + 1
      at, units = entry(log, index)
    end
    return at
  end

  local function step(a, b, _, _, cost, limit, window, _, _, late)
    local log, used = shortened(a, b, cost < 0 and -cost or 0, window)
    local size, newest = #log / 16, 0
    if size > 0 then newest = entry(log, size - 1) end
    local future = newest > now + window
    if future then newest = now end
    local counted = window - now  -- an entry counts for its time plus this
    local changed = #log ~= #a or used ~= b
    if cost <= 0 or cost > limit or used + cost > limit then
      local verdict, retry = ALLOWED, 0
      if cost > limit then
        verdict = NEVER
      elseif cost >= 0 and used + cost > limit then
        verdict = DENIED
        retry = min(in_the_way(log, used + cost - limit), newest) + counted
        if future and cost > 0 then log, changed = moved_back(log), true end
      end
      return verdict, max(0, limit - used), used > 0 and newest + counted or 0, retry, 0,
          changed, log, used
    end
    if future then log = moved_back(log) end
    local at = max(now + late, newest)
    used = used + cost
    return ALLOWED, limit - used, at + counted, 0, 0, true, recorded(log, at, cost), used
  end

  return {
    step = step,
    more = function(a, b, _, _, remaining, _, limit, window)
      local log, used = shortened(a, b, 0, window)
      if remaining >= limit or log == '' then return 0 end
      local newest = entry(log, #log / 16 - 1)
      if newest > now + window then newest = now end
      return min(in_the_way(log, used + remaining + 1 - limit), newest) + window - now
    end,
    expiry = function(a, _, _, _, window)
      return a == '' and 0 or entry(a, #a / 16 - 1) + window
    end,
    write = function(a, b) return pack('<I1i8', 76, b) .. a end,
    read = function(bytes)
      local entries = (#bytes - 9) / 16
      if entries < 0 or entries > ENTRIES_MAX or entries % 1 > 0 then return end
      local tag, units = unpack_from('<I1i8', bytes)
      if checked(tag == 76, units, 0, 0, 0) then return sub(bytes, 10), units, 0, 0 end
    end,
  }
end
