// A Redis decides, by the very script that Weir's nodes run, on Redis's clock. Programs and nodes
// that share a Redis and a prefix share every limit whose rule, bucket and key agree.
//
// All calls in one turn of the event loop become one EVALSHA. A script that Redis has lost
// is sent again; that call had charged nothing.

import { Batcher, StoreError } from "../batcher.js";
import { Core } from "../core.js";
import type { Decision } from "../decision.js";
import { hexOf } from "../digest.js";
import { FAILURE_NAMES, FailoverStore, type FailureOptions } from "../failover.js";
import {
  checkOption, checkOptional, hasFunctions, isFunction, isText, ownOptions, type NamesOf,
} from "../options.js";
import type { Quota } from "../quota.js";
import { OPERATIONS, pack, read, type Charge } from "./charge_call.js";
import { randomBytes } from "#platform";
import { script, scriptSha } from "#script";

export type RedisWord = string | Uint8Array;

export interface RedisStoreOptions extends FailureOptions {
  /** A client of ioredis, or of node-redis, or a function that sends one command. */
  client:
    | { call(command: string, ...words: any[]): Promise<unknown>; isCluster?: boolean }
    | { sendCommand(words: any[]): Promise<unknown> }
    | ((words: RedisWord[]) => Promise<unknown>);
  /** The nodes' prefix, if there are any: "weir:" unless it is set. */
  prefix?: string;
  /** One call for each key, as those of a cluster are in different places. */
  cluster?: boolean;
}
const NAMES: NamesOf<RedisStoreOptions> = {
  client: true, prefix: true, cluster: true, ...FAILURE_NAMES,
};

// The fleet's secret as hexadecimal digits; the one that comes first is everybody's.
const SECRET_SCRIPT = `
local function byte_of(digits) return string.char(tonumber(digits, 16)) end
local function digits_of(char) return string.format('%02x', char:byte()) end
redis.call('SETNX', KEYS[1], (ARGV[1]:gsub('..', byte_of)))
return (redis.call('GET', KEYS[1]):gsub('.', digits_of))`;
const SECRET_BYTES = 192;
const CHARGES_MAX = 256;  // of one call
const LOOK_EVERY_MS = 60_000;  // a node may have brought back an older secret

type Send = (words: RedisWord[]) => Promise<unknown>;

function senderOf(client: RedisStoreOptions["client"]): Send {
  // Clients send Buffers as they are, and other arrays of bytes as text.
  const asBuffer = (word: RedisWord) =>
    typeof word === "string" ? word : (globalThis as any).Buffer.from(word.buffer);
  if (typeof client === "function") return client;
  if ("call" in client) {
    return ([command, ...words]) => client.call(command as string, ...words.map(asBuffer));
  }
  return (words) => client.sendCommand(words.map(asBuffer));
}

export class RedisStore extends FailoverStore {
  private readonly send: Send;
  private readonly prefix: string;
  private readonly batcher: Batcher<Charge, Decision | StoreError>;
  private core: Promise<Core> | undefined;
  private secret: string | undefined;
  private made: Core | undefined;  // under it
  private lookAt = 0;

  constructor(options: RedisStoreOptions) {
    const own = ownOptions(options, "client", NAMES);
    super(own);
    const { client, prefix, cluster } = own;
    const isClient = isFunction(client) || hasFunctions(client, "call") ||
                     hasFunctions(client, "sendCommand");
    checkOption("client", client, isClient,
                "one of ioredis or node-redis, or a function that sends one command");
    checkOptional("prefix", prefix, isText(prefix) && !prefix!.includes("{"),
                  "a text without {");
    checkOptional("cluster", cluster, typeof cluster === "boolean", "true or false");
    this.send = senderOf(client);
    this.prefix = prefix ?? "weir:";
    const isCluster = cluster ?? ("isCluster" in client && client.isCluster);
    this.batcher = new Batcher(isCluster ? 1 : CHARGES_MAX, (charges) => this.charge(charges));
  }

  protected async ask(quota: Quota, bucket: string, key: string,
                      cost: number): Promise<Decision> {
    return this.decide({ quota, bucket, key, cost, operation: OPERATIONS.spendEach });
  }

  protected forget(quota: Quota, bucket: string, key: string): Promise<unknown> {
    return this.decide({ quota, bucket, key, cost: 0, operation: OPERATIONS.reset });
  }

  private async decide(charge: Charge): Promise<Decision> {
    const answer = await this.batcher.add(charge);
    if (answer instanceof StoreError) throw answer;
    return answer;
  }

  private async charge(charges: Charge[]): Promise<(Decision | StoreError)[]> {
    try {
      return await this.call("EVALSHA", scriptSha, charges);
    } catch (error) {
      if (!/NOSCRIPT/.test(String(error))) throw error;
      this.core = undefined;  // a Redis that has lost the script may have lost the secret, too
      return this.call("EVAL", script, charges);
    }
  }

  private async call(command: string, text: string,
                     charges: Charge[]): Promise<(Decision | StoreError)[]> {
    if (Date.now() > this.lookAt) {
      this.lookAt = Date.now() + LOOK_EVERY_MS;
      this.core = undefined;
    }
    this.core ??= this.open();
    const core = await this.core.catch((error) => {
      this.core = undefined;  // the next call tries again
      throw error;
    });
    const [keys, batches] = pack(core, charges, this.prefix);
    const words = [command, text, String(keys.length), ...keys, "", batches];
    return read(await this.send(words), charges);
  }

  private async open(): Promise<Core> {
    const key = `${this.prefix}{fleet}:secret`;
    const brought = this.secret ?? hexOf(randomBytes(SECRET_BYTES));
    const found = await this.send(["EVAL", SECRET_SCRIPT, "1", key, brought]);
    if (typeof found !== "string" || found.length !== 2 * SECRET_BYTES) {
      throw new StoreError(`${key} holds no secret of a fleet`);
    }
    if (this.made !== undefined && this.secret === found) return this.made;
    this.secret = found;
    const secret = Uint8Array.from(found.match(/../g)!, (digits) => parseInt(digits, 16));
    this.made = new Core(1024, 0, secret);  // for its hashes; its table stays empty
    return this.made;
  }
}
