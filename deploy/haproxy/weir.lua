-- Asks Weir whether the request may pass. Sets
--   txn.weir_status       of Weir's answer: 200 allows, everything else denies; not set if
--                         Weir did not answer
--   txn.weir_retry_after  seconds, of a denial
--   txn.weir_ratelimit    the RateLimit field
-- for haproxy.cfg to act on.

local WEIR = "http://127.0.0.1:8080/auth"
local TIMEOUT_MS = 200

local function first(headers, name)
  local values = headers[name]
  return values and values[0] or nil
end

core.register_action("ask_weir", { "http-req" }, function(txn)
  local asked = core.httpclient():get{
    url = WEIR,
    timeout = TIMEOUT_MS,
    headers = {
      ["x-forwarded-method"] = { txn.sf:method() },
      ["x-forwarded-uri"] = { txn.sf:pathq() },
      ["x-forwarded-host"] = { txn.sf:req_hdr("host") },
      ["x-forwarded-for"] = { txn.sf:src() },
    },
  }
  -- HAProxy's client says 0 or 503 of a connection that it could not make, and 504 of a time-out.
  if not asked or asked.status == 0 or asked.status == 503 or asked.status == 504 then
    core.Warning("weir did not answer: " .. txn.sf:method() .. " passes unasked")
    return
  end
  txn:set_var("txn.weir_status", asked.status)
  txn:set_var("txn.weir_retry_after", first(asked.headers, "retry-after") or "")
  local ratelimit = first(asked.headers, "ratelimit")
  if ratelimit then txn:set_var("txn.weir_ratelimit", ratelimit) end
end)
