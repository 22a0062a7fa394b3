import { describe, expect, it } from "@jest/globals";
import { findSecrets, loadSettings } from "#config/load.ts";
import { readDefaults, type Settings } from "#config/settings.ts";

const settings = readDefaults() as Settings;

describe("findSecrets", () => {
  it.each(["finished", "example", "policy", "true", "123456", "x-1"])(
    "does not treat %s as a secret, because redacting it would damage ordinary text",
    (value) => {
      expect(findSecrets(settings, { DB_PASSWORD: value })).toEqual([]);
    },
  );
  it.each(["sk-planted-0123", "correct horse battery", "hunter2", "12345678"])("treats %s as a secret", (value) => {
    expect(findSecrets(settings, { DB_PASSWORD: value })).toEqual([value]);
  });
});

describe("the error for an invalid base URL", () => {
  it.each(["ftp://user:hunter2-hunter2@host/v1", "ftp://host/v1?api-key=hunter2-hunter2"])(
    "hides what may be secret in it: %s",
    async (url) => {
      await expect(loadSettings({ env: { OPENAI_BASE_URL: url } })).rejects.toThrow(
        expect.objectContaining({ code: "GOALD_CONFIG", message: expect.not.stringContaining("hunter2") }),
      );
    },
  );
});
