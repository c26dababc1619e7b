-- penalty.h, for Redis; see common.lua. Backoff's memory of denials, without a cooldown, is one
-- number: denials in a row + 16 * level + 256 if something was denied in the window.
local function make_penalty()
  local LEVEL_MAX, DENIALS_PER_LEVEL = 5, 10
  local floor, max, min = math.floor, math.max, math.min

  local function parts_of(penalty)
    local run = penalty % 16
    local level = (penalty - run) / 16 % 16
    return run, level, penalty >= 256
  end

  -- `windows` have finished since; all but the first were quiet.
  local function after_windows(penalty, windows)
    local run, level, denied = parts_of(penalty)
    local quiet = windows - (denied and 1 or 0)
    if quiet > 0 then run = 0 end
    return run + 16 * max(0, level - quiet)
  end

  -- One more denial in a row; whether a cooldown begins.
  local function after_denial(penalty)
    local run, level = parts_of(penalty)
    if run + 1 < DENIALS_PER_LEVEL then return run + 1 + 16 * level + 256, false end
    level = min(LEVEL_MAX, level + 1)
    return 16 * level + 256, level == LEVEL_MAX
  end

  -- Windows, from the one counted in, until neither row nor level is left.
  local function windows_of(penalty)
    local run, level, denied = parts_of(penalty)
    local quiet = max(level, run > 0 and 1 or 0)
    return quiet + ((quiet > 0 and denied) and 1 or 0)
  end

  local function level_of(penalty)
    local _, level = parts_of(penalty)
    return level
  end

  local function limit_at(limit, penalty)
    if limit == 0 then return 0 end
    return max(1, floor(limit / 2 ^ level_of(penalty)))
  end

  return after_windows, after_denial, windows_of, level_of, limit_at
end
