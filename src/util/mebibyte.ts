/** mebibyte.ts -- the number of bytes in one megabyte of a setting. */
export const MEBIBYTE = 1024 * 1024;
