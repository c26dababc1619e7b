// The dialogs: signing in, and asking before what cannot be undone at once.

import { type Child, button, field, h, say, unique } from "./dom";
import { feed } from "./live";
import { session } from "./session";

let signIn: HTMLDialogElement | undefined;

/** Asks for the token; one dialog at a time. */
export function openSignIn(then: () => void): void {
  if (signIn?.open) return;
  const token = h("input", { type: "password", autocomplete: "current-password", required: true });
  const problem = h("p", { class: "problem", role: "alert" });
  const form = h("form", {},
    h("p", {}, "Rules, keys and explanations take the admin token of this server."),
    field("Admin token", token), problem,
    h("div", { class: "actions" },
      button("Not now", () => signIn!.close(), { class: "quiet" }),
      h("button", { type: "submit", class: "primary" }, "Sign in")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void session.signIn(token.value).then((trouble) => {
      if (trouble) return say(problem, trouble);
      signIn!.close();
      then();
    });
  });
  signIn = opened("Sign in", form);
  token.focus();
}

/** Whether somebody says yes. `says`: asked again each second, since Redis may go meanwhile. */
export function confirmed(
  question: string, says: () => string, yes: string, more?: HTMLElement,
): Promise<boolean> {
  const details = h("p");
  const show = (): void => say(details, says());
  show();
  feed.addEventListener("message", show);
  more?.addEventListener("change", show);
  const dialog = opened(question, details, more,
    h("form", { method: "dialog", class: "actions" },
      h("button", { class: "quiet", autofocus: true }, "Cancel"),
      h("button", { class: "danger", value: "yes" }, yes)));
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    feed.removeEventListener("message", show);
    resolve(dialog.returnValue === "yes");
  }));
}

/** One that is gone when somebody closes it. */
function opened(title: string, ...content: Child[]): HTMLDialogElement {
  const heading = h("h2", { id: unique("title") }, title);
  const dialog = h("dialog", { "aria-labelledby": heading.id }, heading, ...content);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
