/** method-paraphrases.ts -- what a person may say for the methods of seed 001, mostly in words that the methods do not have. */

export interface Paraphrase {
  readonly description: string;
  /** The methods that do it. */
  readonly fits: readonly string[];
}

const FORECAST = ["get_weather_forecast"];
const NOW = ["get_current_weather"];
const SHRINK = ["shrink_image"];
const ROTATE = ["rotate_image"];
const DOWNLOAD = ["download_image"];
const MESSAGE = ["send_message_discord", "send_slack_message"];
const PICTURE = ["send_slack_image", "send_message_discord"];
const CHANNELS = ["list_slack_channels"];
const PLACE = ["find_coordinates"];
const STOCK = ["get_stock_prices"];
const RATE = ["get_exchange_rate"];
const TRANSLATE = ["translate_text"];
const EMOJI = ["describe_emoji"];
const NASA = ["get_nasa_astronomy_picture_of_the_day"];

/** Weights and limits of the search were chosen by the rows with even numbers, from 0; the others were kept back. */
export const PARAPHRASES: readonly Paraphrase[] = [
  { description: "what will the sky be like on Saturday", fits: FORECAST },
  { description: "will it rain tomorrow", fits: FORECAST },
  { description: "temperatures expected during the coming week", fits: FORECAST },
  { description: "the climate outlook for three days ahead", fits: FORECAST },
  { description: "how warm is it outside right now", fits: NOW },
  { description: "is it snowing at this moment", fits: NOW },
  { description: "make the photo smaller", fits: SHRINK },
  { description: "reduce the dimensions of a photograph", fits: SHRINK },
  { description: "scale a photo down by half", fits: SHRINK },
  { description: "turn the photo sideways", fits: ROTATE },
  { description: "flip a photograph upside down", fits: ROTATE },
  { description: "fix a portrait that is tilted", fits: ROTATE },
  { description: "fetch a photo from a website", fits: DOWNLOAD },
  { description: "save the jpeg behind this link to disk", fits: DOWNLOAD },
  { description: "let the team know on chat", fits: MESSAGE },
  { description: "post an announcement for my colleagues", fits: MESSAGE },
  { description: "notify everybody that the job is done", fits: MESSAGE },
  { description: "write to the gaming community server", fits: MESSAGE },
  { description: "share a photo with my coworkers", fits: PICTURE },
  { description: "post a screenshot in the chat room", fits: PICTURE },
  { description: "which rooms can I write in", fits: CHANNELS },
  { description: "show the available chat rooms", fits: CHANNELS },
  { description: "names of all discussion groups", fits: CHANNELS },
  { description: "where on the globe is Oslo", fits: PLACE },
  { description: "latitude and longitude of a town", fits: PLACE },
  { description: "position of a village on the map", fits: PLACE },
  { description: "how did the shares of Apple do last year", fits: STOCK },
  { description: "what a company was worth on the market each day", fits: STOCK },
  { description: "history of Microsoft share values", fits: STOCK },
  { description: "how many dollars do I get for one euro", fits: RATE },
  { description: "convert money from pounds to yen", fits: RATE },
  { description: "value of the yen against the franc", fits: RATE },
  { description: "say this sentence in French", fits: TRANSLATE },
  { description: "put a paragraph into Spanish", fits: TRANSLATE },
  { description: "German version of an English letter", fits: TRANSLATE },
  { description: "what does this smiley stand for", fits: EMOJI },
  { description: "explain a little face symbol", fits: EMOJI },
  { description: "sense of a smiley icon", fits: EMOJI },
  { description: "today's space photo", fits: NASA },
  { description: "a beautiful shot of a galaxy or nebula", fits: NASA },
  { description: "universe image with its explanation", fits: NASA },
  { description: "the telescope photo that the space agency chose", fits: NASA },
];
