// The dialogs: signing in, and asking before what cannot be undone at once.

import { button, field, h, say, unique } from "./dom";
import { session } from "./session";

let open: HTMLDialogElement | undefined;

/** Asks for the token; one dialog at a time. */
export function openSignIn(then: () => void): void {
  if (open) return;
  const token = h("input", { type: "password", autocomplete: "current-password", required: true });
  const problem = h("p", { class: "problem", role: "alert" });
  const title = h("h2", { id: unique("title") }, "Sign in");
  const form: HTMLFormElement = h("form", { method: "dialog" }, title,
    h("p", {}, "Rules, keys and explanations take the admin token of this server."),
    field("Admin token", token), problem,
    h("div", { class: "actions" },
      button("Not now", () => dialog.close(), { class: "quiet" }),
      h("button", { type: "submit", class: "primary" }, "Sign in")));
  const dialog: HTMLDialogElement = h("dialog", { "aria-labelledby": title.id }, form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void session.signIn(token.value).then((result) => {
      if (result !== "done") return say(problem, result.problem);
      dialog.close();
      then();
    });
  });
  show(dialog);
  open = dialog;
  dialog.addEventListener("close", () => (open = undefined));
  token.focus();
}

/** Whether somebody says yes. */
export function confirmed(
  question: string, details: string, yes: string, more?: HTMLElement,
): Promise<boolean> {
  const title = h("h2", { id: unique("title") }, question);
  return new Promise((resolve) => {
    let answer = false;
    const agree = (): void => {
      answer = true;
      dialog.close();
    };
    const dialog: HTMLDialogElement = h("dialog", { "aria-labelledby": title.id },
      title, h("p", {}, details), more ?? null,
      h("div", { class: "actions" },
        button("Cancel", () => dialog.close(), { class: "quiet", autofocus: true }),
        button(yes, agree, { class: "danger" })));
    dialog.addEventListener("close", () => resolve(answer));
    show(dialog);
  });
}

function show(dialog: HTMLDialogElement): void {
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}
