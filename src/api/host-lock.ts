/** host-lock.ts -- who holds the lock of a home, for those who only want to know. */
export { isHostHeld, readHostInfo } from "#store/host-lock.ts";
