/** plain-words.ts -- tells ordinary words from names, numbers, addresses and keys. */

/** Years and small numbers, versions, and short names such as `GPT-4`. */
const TOKEN = /^(?:[\p{L}\p{M}]{1,30}|\d{1,2}|(?:19|20)\d\d|[\p{L}\d]{1,6}|\d{1,2}\.\d{1,3})$/u;

/** True for words that a person could say aloud. An e-mail address, an account number or a key is not one. */
export const isPlainWords = (text: string): boolean =>
  !/[@=\\]|:\/\/|\d\D{1,2}\d+\D{1,2}\d/.test(text) &&
  text
    .split(/[\s,;:!?()"'’“”/&+–—-]+|\.(?=\s|$)/u)
    .filter((token) => token !== "")
    .every((token) => TOKEN.test(token));
