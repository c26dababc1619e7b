// Whether the server wants a token, and whether somebody has signed in. Event: "change".

import { ask } from "./api";

class Session extends EventTarget {
  needed = false;
  signedIn = false;
  public = false;
  version = "";
  node = "";
  /** Whether the server has said any of this yet. */
  known = false;

  /** Whether admin routes will answer, as far as the page knows. */
  get mayChange(): boolean {
    return this.signedIn || !this.known;
  }

  /** The server listens beyond loopback, has no token, and so shows nothing to anybody. */
  get isShut(): boolean {
    return this.known && !this.needed && !this.signedIn && !this.public;
  }

  async load(): Promise<void> {
    const reply = await ask("/console/session");
    if (!reply.ok) return;
    this.needed = reply.body.needed === true;
    this.signedIn = reply.body.signed_in === true;
    this.public = reply.body.public === true;
    this.version = String(reply.body.version ?? "");
    this.node = String(reply.body.node ?? "");
    this.known = true;
    this.dispatchEvent(new Event("change"));
  }

  /** What is wrong; "" if it went well. */
  async signIn(token: string): Promise<string> {
    const { ok, status, problem } = await ask("/console/session", { body: { token } });
    if (ok) await this.load();
    if (status === 401) return "This is not the token.";
    return status === 429 ? "Too many wrong tokens. Wait a minute." : problem;
  }

  async signOut(): Promise<void> {
    await ask("/console/session", { method: "DELETE" });
  }
}

export const session = new Session();
