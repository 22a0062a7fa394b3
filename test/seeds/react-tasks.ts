/**
 * react-tasks.ts -- the six tasks of seed 001, each as a model that reads methods and values from observations only.
 *
 * A task has the number of steps that the seed reports for its best model. An action names a method only after a search has shown it,
 * and each value comes from the task or an observation.
 */
import { action, type Line, type Seen, thoughtOf } from "../helpers/conditional-model.ts";

export interface ReactTask {
  readonly id: string;
  readonly goal: string;
  /** Actions in turn. The condition of each is that the prompt shows what it uses. */
  readonly actions: readonly TaskAction[];
}
interface TaskAction {
  readonly code: string | ((seen: Seen) => string);
  /** Texts that the prompt must show before this action: a method's signature, a variable, a value. */
  readonly needs?: readonly (string | RegExp)[];
}

const search = (words: string): TaskAction => ({ code: `method_search(${JSON.stringify(words)})` });
const act = (code: TaskAction["code"], ...needs: readonly (string | RegExp)[]): TaskAction => ({ code, needs });
const stop = act("stop()");
const LOCATION = act("location = get_user_location()\nprint(location)");
const CHANNEL = "#experimenting-with-simple-ai-agents";
const WEATHER_HERE = act(
  ({ all }) =>
    `weather = get_current_weather(${numberIn(all, "latitude")}, ${numberIn(all, "longitude")})\nprint(weather)`,
  "get_current_weather(",
  "'latitude': 52.52",
);
const channelId = ({ all }: Seen): string => /'id': '(C\w+)', 'name': '#?experimenting/.exec(all)?.[1] ?? "";

export const REACT_TASKS: readonly ReactTask[] = [
  {
    id: "A",
    goal: "Print the current date.",
    actions: [
      search("Print the current date"),
      act("current_date = datetime.now().date()\nprint(current_date)"),
      act("print(current_date.isoformat())", /\d{4}-\d\d-\d\d/),
      stop,
    ],
  },
  {
    id: "B",
    goal: "Send a Discord message with the current weather for my location.",
    actions: [
      search("Get the current weather for a location"),
      LOCATION,
      WEATHER_HERE,
      search("Send a Discord message"),
      act("send_message_discord(weather['conditions'])", "send_message_discord(", "'conditions'"),
      act("print(weather['conditions'])"),
      stop,
    ],
  },
  {
    id: "C",
    goal: `Send a Slack message to the ${CHANNEL} channel with the current weather for London, UK.`,
    actions: [
      search("Find the coordinates of a place"),
      act("london = find_coordinates('London, UK')\nprint(london)", "find_coordinates("),
      search("Get the current weather for coordinates"),
      act(
        "weather = get_current_weather(london['latitude'], london['longitude'])\nprint(weather)",
        "get_current_weather(",
      ),
      search("Find the ID of a Slack channel"),
      act("channels = list_slack_channels()\nprint(channels)", "list_slack_channels("),
      search("Send a message to a Slack channel"),
      act("print(weather['conditions'])"),
      act(
        (seen) => `send_slack_message(weather['conditions'], '${channelId(seen)}')`,
        "send_slack_message(",
        /'id': 'C\w+'/,
      ),
      act("print(channels)"),
      stop,
    ],
  },
  {
    id: "D",
    goal: "Send a descriptive Discord message with the weather forecast for the next 5 days for my location. Describe the weather each day with an appropriate emoji, include the dates in the message.",
    actions: [
      search("Get the weather forecast for the next days"),
      LOCATION,
      act(
        ({ all }) =>
          `forecast = get_weather_forecast(${numberIn(all, "latitude")}, ${numberIn(all, "longitude")}, 5)\nprint(forecast)`,
        "get_weather_forecast(",
      ),
      search("Find an emoji for a description of the weather"),
      act(
        "emojis = {'sunny': '☀️', 'cloudy': '☁️', 'light rain': '🌧️', 'thunderstorm': '⛈️', 'snow': '❄️'}\nprint(emojis)",
        "'sunny'",
        "'thunderstorm'",
      ),
      act(
        "lines = [day['date'] + ' ' + emojis[day['conditions']] + ' ' + day['conditions'] for day in forecast]\nprint(lines)",
      ),
      act("message = 'Weather forecast: ' + ', '.join(lines)\nprint(message)"),
      search("Send a Discord message"),
      act("send_message_discord(message)", "send_message_discord("),
      act("print(len(lines))"),
      stop,
    ],
  },
  {
    id: "E",
    goal: "Lookup the NASA picture-of-the day, resize to half it's size, and send to Discord with a message starting with 'Hello from Space!' and providing additional information about the image.",
    actions: [
      search("Lookup the NASA picture-of-the-day"),
      act("apod = get_nasa_astronomy_picture_of_the_day()\nprint(apod)", "get_nasa_astronomy_picture_of_the_day("),
      search("Download an image from an URL"),
      act("nasa_image = download_image(apod['url'])\nprint(nasa_image)", "download_image(", "'url'"),
      search("Resize the downloaded picture to half its size"),
      act("resized_nasa_image = shrink_image(nasa_image, 0.5)\nprint(resized_nasa_image)", "shrink_image("),
      search("Send a Discord message with an image"),
      act(
        "message = 'Hello from Space! ' + apod['title'] + ': ' + apod['explanation']\nprint(message)",
        "'explanation'",
      ),
      act("send_message_discord(message, resized_nasa_image)", "send_message_discord("),
      stop,
    ],
  },
  {
    id: "F",
    goal: `What week in the last 3 months had the lowest MSFT stock closing price? Send the result including price and date to the ${CHANNEL} Slack channel.`,
    actions: [
      search("Get historical stock prices"),
      act("today = datetime.now().date()\nprint(today)"),
      act("first_of_month = today.replace(day=1)\nprint(first_of_month)"),
      act("month = (today.month - 4) % 12 + 1\nprint(month)"),
      act("first_day = today.replace(year=today.year - (today.month <= 3), month=month, day=1)\nprint(first_day)"),
      act(
        "prices = get_stock_prices('MSFT', first_day.isoformat(), today.isoformat())\nprint(len(prices))",
        "get_stock_prices(",
        "MSFT",
      ),
      act("lowest = min(prices, key=lambda day: day['close'])\nprint(lowest)"),
      act("year, week, weekday = datetime.fromisoformat(lowest['date']).isocalendar()\nprint(week)"),
      search("Find the ID of a Slack channel"),
      act("channels = list_slack_channels()\nprint(channels)", "list_slack_channels("),
      search("Send a message to a Slack channel"),
      act(
        "message = 'MSFT closed lowest in week ' + str(week) + ', on ' + lowest['date'] + ', at ' + str(lowest['close'])\nprint(message)",
        "'close'",
      ),
      act((seen) => `send_slack_message(message, '${channelId(seen)}')`, "send_slack_message(", /'id': 'C\w+'/),
      act("print(message)"),
      stop,
    ],
  },
];

/** The lines of one task. A request that does not show what its action needs has no line, and fails the test. */
export const linesOf = ({ actions }: ReactTask): readonly Line[] =>
  actions.map(({ code, needs = [] }, index) => ({
    when: (seen) => thoughtOf(seen) === index + 1 && needs.every((text) => shows(seen, text)),
    say: (seen) =>
      action(seen, typeof code === "string" ? code : code(seen), `Step ${index + 1} of ${actions.length}.`),
  }));

const shows = ({ all }: Seen, text: string | RegExp): boolean =>
  typeof text === "string" ? all.includes(text) : text.test(all);

/** The newest number behind a key of a printed dictionary. */
function numberIn(text: string, key: string): string {
  return [...text.matchAll(new RegExp(`'${key}': (-?[\\d.]+)`, "g"))].at(-1)?.[1] ?? "";
}
