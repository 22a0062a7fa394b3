/**
 * main-services.ts -- what commands may ask of the world beyond their folder: what a home is set up for, and its making.
 *
 * One line each in both tables: a service that is not in the first is not part of this goald, one that is not ready says
 * what a person can do.
 */
import type { ServiceStates } from "#commands/registry.ts";
import type { Home } from "#config/home.ts";
import type { Settings } from "#config/settings.ts";
import type { Services } from "#core/services.ts";
import type { Http } from "#http/http.ts";

export function serviceStates(_settings: Settings): ServiceStates {
  // Whoever runs an agent has a model for it.
  return { advisor: { ready: true } };
}

export interface ServiceParts {
  readonly home: Home;
  readonly settings: Settings;
  readonly http: Http;
}

/** The services that are shared by all agents of a host. Nothing is reached before the first call. */
export function openServices(_parts: ServiceParts): Partial<Services> {
  return {};
}
