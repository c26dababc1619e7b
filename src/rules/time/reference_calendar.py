"""When windows of calendars begin, by Python's datetime and zoneinfo.

Prints a line for each calendar: zone, unit, minutes after midnight, first day, and then the seconds
since 1970 at which windows begin, from 1970 to 2100. A time that clocks skip is the next instant,
one that they show twice the first. Windows without an instant are left out.
"""

import calendar
import datetime
import zoneinfo

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
SECOND = datetime.timedelta(seconds=1)

ZONES = [
    "UTC", "Africa/Cairo", "Africa/Casablanca", "Africa/Monrovia", "America/Godthab",
    "America/Havana", "America/Los_Angeles", "America/New_York", "America/Santiago",
    "America/Sao_Paulo", "America/St_Johns", "Antarctica/Troll", "Asia/Gaza", "Asia/Jerusalem",
    "Asia/Kathmandu", "Asia/Tehran", "Asia/Tokyo", "Australia/Lord_Howe", "Australia/Sydney",
    "Europe/Berlin", "Europe/Dublin", "Europe/London", "Europe/Moscow", "Pacific/Apia",
    "Pacific/Chatham", "Pacific/Kwajalein",
]  # fmt: skip
DAYS = [("day", minutes, 0) for minutes in (0, 150)]
OTHERS = [("week", 0, 0), ("week", 540, 6), ("year", 0, 0)]
OTHERS += [("month", 30, first_day) for first_day in (1, 15, 29, 30, 31)]


def seconds(instant):
    return (instant - EPOCH) // SECOND


def instant_of(zone, local):
    """When the zone's clocks show that time; the next instant if they skip it."""
    instant = local.replace(tzinfo=zone).astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == local:
        return seconds(instant)
    late = instant
    early = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    while late - early > SECOND:
        middle = early + (late - early) // 2 // SECOND * SECOND
        if middle.astimezone(zone).replace(tzinfo=None) < local:
            early = middle
        else:
            late = middle
    return seconds(late)


def dates(unit, first_day):
    first, last = datetime.date(1970, 1, 1), datetime.date(2100, 12, 31)
    if unit in ("day", "week"):
        step = datetime.timedelta(days=1 if unit == "day" else 7)
        date = first
        while unit == "week" and date.weekday() != first_day:
            date += datetime.timedelta(days=1)
        while date <= last:
            yield date
            date += step
        return
    for year in range(first.year, last.year + 1):
        for month in range(1, 13) if unit == "month" else [1]:
            days = calendar.monthrange(year, month)[1]
            yield datetime.date(year, month, min(max(1, first_day), days))


def main():
    for name in ZONES:
        zone = zoneinfo.ZoneInfo(name)
        for unit, minutes, first_day in DAYS + OTHERS:
            time = datetime.time(minutes // 60, minutes % 60)
            begins = {
                instant_of(zone, datetime.datetime.combine(date, time))
                for date in dates(unit, first_day)
            }
            print(name, unit, minutes, first_day, *sorted(begins))


if __name__ == "__main__":
    main()
