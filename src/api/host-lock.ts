/** host-lock.ts -- exports the functions that read the lock of a home. */
export { isHostHeld, readHostInfo } from "#store/sqlite/host-lock.ts";
