-- wrk script: POST /check for 100,000 keys in turn. The requests are made beforehand,
-- so that wrk does as little for a POST as for its plain GET.

local keys = 100000
local requests = {}
local turn = 0

function init(arguments)
  local headers = {["Content-Type"] = "application/json"}
  for key = 1, keys do
    local body = string.format(
      '{"key":"k%08x","limit":1000000,"window":60,"algorithm":"sliding_window"}', key)
    requests[key] = wrk.format("POST", "/check", headers, body)
  end
end

function request()
  turn = turn % keys + 1
  return requests[turn]
end
