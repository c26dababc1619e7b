// What stands behind the Worker.

export default {
  fetch: () => new Response("hello from the origin\n"),
};
