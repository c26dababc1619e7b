-- Asks Weir whether a request may pass.
--
--   http-request lua.ask_weir HEADER,...
--
-- Weir is the first server of the backend `weir` that is up. It hears of the request's method,
-- path, host and client, and of the HEADERs as the client has sent them. A request that Weir denies
-- gets Weir's own answer: status, headers and body, as `on_deny` of the rule has them. Sets, for
-- haproxy.cfg to act on,
--   txn.weir_status       of Weir's answer: 200 allows, everything else denies (500: this script
--                         has failed); not set if Weir did not answer
--   txn.weir_ratelimit    the RateLimit field
--   txn.weir_policy       the RateLimit-Policy field

local BACKEND = "weir"
local TIMEOUT_MS = 200 -- HAProxy 2.6 asks up to three times more, and each time is charged
local HEADERS_MAX = 4096 -- bytes: the question must fit into a buffer of HAProxy
local BODY_MAX = 8192 -- bytes: so must the answer, which has no body otherwise

-- HAProxy itself sets the fields that say who asks for what; the rest belongs to one connection.
local RESERVED = {
  ["connection"] = true, ["content-length"] = true, ["host"] = true, ["keep-alive"] = true,
  ["te"] = true, ["trailer"] = true, ["transfer-encoding"] = true, ["upgrade"] = true,
  ["x-forwarded-for"] = true, ["x-forwarded-host"] = true, ["x-forwarded-method"] = true,
  ["x-forwarded-uri"] = true,
}

-- The names of a list, which is read once.
local lists = {}
local function names_in(list)
  if not lists[list] then
    local names = {}
    for name in list:lower():gmatch("[^,%s]+") do
      if RESERVED[name] then error("weir.lua cannot pass the header '" .. name .. "' on") end
      names[#names + 1] = name
    end
    lists[list] = names
  end
  return lists[list]
end

-- The address of the server to ask; nil if none is up.
local function address_of_weir(txn)
  for name, server in pairs(core.backends[BACKEND].servers) do
    local is_up = txn.f:srv_is_up(BACKEND .. "/" .. name)
    if is_up == 1 or is_up == true then return server:get_addr() end
  end
  return nil
end

-- Says at most once a second that requests pass unasked.
local said_at = 0
local unsaid = 0
local function pass_unasked(txn, why)
  txn:unset_var("txn.weir_status")
  unsaid = unsaid + 1
  local now = core.now().sec
  if now == said_at then return end
  core.Warning("weir " .. why .. ": " .. unsaid .. " requests passed unasked")
  said_at = now
  unsaid = 0
end

-- The headers of the question; nil if they are too large.
local function question_about(txn, names)
  local question = {
    ["x-forwarded-method"] = { txn.sf:method() },
    ["x-forwarded-uri"] = { txn.sf:pathq() },
    ["x-forwarded-host"] = { txn.sf:req_hdr("host") },
    ["x-forwarded-for"] = { txn.sf:src() },
  }
  local sent = txn.http:req_get_headers()
  local bytes = 0
  for _, name in ipairs(names) do
    local lines = sent[name]
    if lines then
      question[name] = {}
      for i = 0, #lines do
        question[name][i + 1] = lines[i]
        bytes = bytes + #name + #lines[i] + 4
      end
    end
  end
  return bytes <= HEADERS_MAX and question or nil
end

local function first(headers, name)
  local values = headers[name]
  return values and values[0] or nil
end

-- Ends the request with Weir's answer; what is no denial by a rule, haproxy.cfg denies.
local function deny_as(txn, answer)
  if answer.status < 400 or answer.status > 499 then return end
  local body = #answer.body <= BODY_MAX and answer.body or ""
  local reply = txn:reply({ status = answer.status, body = body })
  for name, values in pairs(answer.headers) do
    if not RESERVED[name] then
      for i = 0, #values do reply:add_header(name, values[i]) end
    end
  end
  txn:done(reply)
end

core.register_action("ask_weir", { "http-req" }, function(txn, headers)
  txn:set_var("txn.weir_status", 500) -- stays if anything below fails
  local address = address_of_weir(txn)
  if not address then return pass_unasked(txn, "is down") end
  local question = question_about(txn, names_in(headers))
  if not question then return txn:set_var("txn.weir_status", 431) end
  local answer = core.httpclient():get{
    url = "http://" .. address .. "/auth",
    timeout = TIMEOUT_MS,
    headers = question,
  }
  -- HAProxy's client says 0 or 503 of a connection that it could not make, and 504 of a time-out.
  if not answer or answer.status == 0 or answer.status == 503 or answer.status == 504 then
    return pass_unasked(txn, "did not answer")
  end
  txn:set_var("txn.weir_status", answer.status)
  local ratelimit = first(answer.headers, "ratelimit")
  if ratelimit then txn:set_var("txn.weir_ratelimit", ratelimit) end
  local policy = first(answer.headers, "ratelimit-policy")
  if policy then txn:set_var("txn.weir_policy", policy) end
  if answer.status ~= 200 then deny_as(txn, answer) end
end, 1)
