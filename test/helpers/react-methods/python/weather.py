"""Places, weather and prices."""
from urllib.parse import urlencode


def _ask(path: str, **query) -> object:
    return ask_service(path=path, query=urlencode(query))


def find_coordinates(place: str) -> dict:
    """Looks up the geographic coordinates of a place, such as a city."""
    return _ask("coordinates", place=place)


def get_current_weather(latitude: float, longitude: float) -> dict:
    """Gets the weather at the given coordinates as it is now: temperature and conditions."""
    return _ask("weather", latitude=latitude, longitude=longitude)


def get_weather_forecast(latitude: float, longitude: float, days: int) -> list:
    """Gets the weather forecast for the next days at the given coordinates."""
    return _ask("forecast", latitude=latitude, longitude=longitude, days=days)


def get_stock_prices(symbol: str, first_day: str, last_day: str) -> list:
    """Gets the daily closing prices of a stock between two dates."""
    return _ask("stocks", symbol=symbol, first_day=first_day, last_day=last_day)


def get_exchange_rate(base: str, currency: str) -> float:
    """Gets the rate at which one currency is exchanged for another."""
    return _ask("rates", base=base, currency=currency)


def translate_text(text: str, language: str) -> str:
    """Translates a text into another language."""
    return _ask("translation", text=text, language=language)


def describe_emoji(emoji: str) -> str:
    """Gives the name and meaning of an emoji."""
    return _ask("emoji", emoji=emoji)
