/** lazy-posts.ts -- posts to X, loaded with the first one. */
import type { Posts } from "#core/services.ts";
import type { XPostsParts } from "./x-posts.ts";

export function openPosts(parts: XPostsParts): Posts {
  let posts: Promise<Posts> | undefined;
  return {
    post: async (...given) => {
      posts ??= import("./x-posts.ts").then(({ createXPosts }) => createXPosts(parts));
      return (await posts).post(...given);
    },
  };
}
