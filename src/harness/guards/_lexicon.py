"""
The words that the lexical guard knows: data only, general English of operations.

1. Nothing here is keyed to one incident, product or text. A word is listed for what it does in any
   sentence: it negates, it hedges, it states a cause, it abbreviates another word.
2. A word that is not listed is a content word: the evidence must hold it. So a gap in these lists
   makes the guard stricter; only a wrong entry could make it more lenient.
3. Entries are matched before stemming, the longest phrase first. Groups are matched after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from harness.guards._kinds import Kind, Negation

__all__ = [
    "ADVICE",
    "APPROXIMATE",
    "COMPARING",
    "DAYS",
    "EQUIVALENTS",
    "EXISTENCE",
    "FAILING",
    "IRREGULAR",
    "KINDS_OF_NAME",
    "KINDS_OF_THING",
    "MONTHS",
    "NUMBER_WORDS",
    "OPPOSITES",
    "OPPOSITE_WORDS",
    "PLACES",
    "ROLES",
    "SATISFIED_BY",
    "SEARCHING",
    "UNITS",
    "WITNESSES",
]


def _words(text: str) -> list[str]:
    """
    Split a list that is written as text: shorter to read than a quotation mark around each word.
    """
    return text.split()


def _groups(text: str) -> tuple[str, ...]:
    return tuple(" ".join(group.split()) for group in text.split(","))


def _all(kind: Kind, key: str, phrases: str) -> dict[str, tuple[Kind, str]]:
    """
    Give every phrase of a list (separated by commas) one role.
    """
    return dict.fromkeys(_groups(phrases), (kind, key))


def _each(kind: Kind, words: str) -> dict[str, tuple[Kind, str]]:
    """
    Give every word its role, with itself as the key.
    """
    return {word: (kind, word) for word in _words(words)}


#: What a word or phrase does in a sentence. The key of a negation is its member's name, the key of
#: a cause or an order says which side of the word comes first.
ROLES: Final[Mapping[str, tuple[Kind, str]]] = MappingProxyType(
    _each(
        Kind.STOP,
        "a an the this that these those it its itself they their them he she his her we our us "
        "you your i my me of in on at by for from to into onto with within through via as or per "
        "upon across between among along against toward towards until till during when where who "
        "whom whose what how there here both either such same own other another some any than "
        "also still already just very quite too now then currently actually really namely eg ie "
        "etc vs respectively according based about around approximately roughly nearly almost "
        "circa out off back away again once over under",
    )
    | _each(Kind.AUXILIARY, "is was are were be been being am do does did has had can s")
    | _each(
        Kind.LIGHT,
        "have having get gets got getting show shows showed shown showing report reports reported "
        "reporting indicate indicates indicated say says said state states stated see sees saw "
        "seen observe observes observed contain contains contained include includes included "
        "including return returns returned returning know knows knew known occur occurs occurred "
        "occurring happen happens happened become becomes became remain remains remained appear "
        "appears appeared seem seems seemed come comes came go goes went take takes took taken "
        "give gives gave given involve involves involved confirm confirms confirmed reveal "
        "reveals revealed suggest suggests suggested mean means meant note notes noted",
    )
    | _each(
        Kind.HEDGE,
        "may might would should will shall could must if unless whether maybe perhaps possible "
        "possibly probable probably likely unlikely potential potentially apparently presumably "
        "suspect suspects suspected suppose supposed assume assumed assuming hypothetical",
    )
    | _all(
        Kind.HEDGE,
        "attempt",
        "going to, about to, trying to, try to, tries to, tried to, attempting to, attempt to, "
        "attempts to, attempted to, planned to, planning to, scheduled to, supposed to, needs to, "
        "need to, has to, have to, in case",
    )
    | _all(
        Kind.NEGATION,
        "NOT",
        "not, nor, neither, non, hardly, barely, rather than, instead of, except, except for, "
        "nicht, kein, keine, keinen, nie, niemals, pas, aucun, aucune, nunca, ninguna, niet, geen",
    )
    | _all(Kind.NEGATION, "NEVER", "never, not once, not ever, at no time")
    | _all(
        Kind.NEGATION,
        "NO_LONGER",
        "no longer, not any longer, not anymore, not any more, no more",
    )
    | _all(
        Kind.NEGATION,
        "ABSENCE",
        "no, without, none, nothing, nobody, no one, lack, lacks, lacked, lacking, lack of, zero, "
        "free of, absence of, ohne, sans, senza",
    )
    | _all(
        Kind.NEGATION,
        "INABILITY",
        "cannot, can not, could not, unable to, unable, failed to, fails to, fail to, failing to, "
        "failure to, not able to, refused to, refuses to, refusing to, inability to, "
        "impossible to, not possible to",
    )
    | _all(
        Kind.CAUSE,
        "effect first",
        "because, because of, due to, owing to, caused by, cause by, as a result of, a result of, "
        "result of, thanks to, triggered by, stems from, stemmed from, stemming from, "
        "resulted from, results from, resulting from, arises from, originates from, on account of, "
        "attributable to, attributed to, driven by, provoked by, brought about by, since",
    )
    | _all(
        Kind.CAUSE,
        "cause first",
        "so, so that, therefore, thus, hence, consequently, as a result, as a consequence, "
        "leads to, lead to, led to, leading to, causes, cause, caused, causing, results in, "
        "result in, resulted in, resulting in, which is why, that is why, for this reason, "
        "for that reason, responsible for, explains, explain, explained, explaining, triggers, "
        "triggering, provokes, provoked, provoking, brings about, brought about",
    )
    | _all(
        Kind.CAUSE,
        "label",
        "root cause, root causes, the cause, cause of, causes of, reason, reasons, culprit, "
        "to blame, blame, root cause of, reason for, underlying problem, underlying issue",
    )
    | _all(Kind.ORDER, "later first", "after, preceded by")
    | _all(Kind.ORDER, "earlier first", "before, prior to, ahead of, followed by, and then")
    | _all(
        Kind.LINK,
        "link",
        "and, but, while, whereas, although, though, however, which, moreover, furthermore, "
        "additionally, yet",
    )
    # What several words say as one, under the word that says it.
    | _all(
        Kind.WORD,
        "timeout",
        "timed out, time out, times out, timing out, time outs, timeouts, timedout",
    )
    | _all(Kind.WORD, "stop", "shut down, shuts down, shutting down, shutdown, shutdowns")
    | _all(Kind.WORD, "start", "start up, starts up, started up, starting up, startup, boot up")
    | _all(Kind.WORD, "oom", "out of memory, ran out of memory, runs out of memory, oom")
    | _all(Kind.WORD, "all", "all, every, each, everything, everyone, entire, whole, entirely")
    | _all(Kind.WORD, "everywhere", "everywhere, anywhere, nowhere")
    | _all(Kind.WORD, "always", "always, at all times, continuously, constantly, permanently")
    | _all(Kind.WORD, "only", "only, solely, exclusively, merely, nothing but")
    | _all(Kind.WORD, "many", "many, several, multiple, numerous, various")
    | _all(Kind.WORD, "most", "most, mostly, majority, the majority of")
    | _all(Kind.WORD, "above", "more than, greater than, larger than, higher than, longer than")
    | _all(Kind.WORD, "below", "less than, fewer than, lower than, smaller than, shorter than")
    | _all(Kind.WORD, "at least", "at least, a minimum of, no less than, no fewer than")
    | _all(Kind.WORD, "at most", "at most, up to, a maximum of, no more than, not more than")
    | _all(
        Kind.STOP, "at all", "at all, not only, as well as, as well, in total, such as, each other"
    )
)

#: How a word that stands for a negated one is read: the word itself, and what it negates by.
OPPOSITE_WORDS: Final[Mapping[str, tuple[str, Negation]]] = MappingProxyType(
    dict.fromkeys(_words("missing absent nonexistent inexistent"), ("find", Negation.ABSENCE))
    | dict.fromkeys(
        _words(
            "forbidden forbids forbid denied denies deny denying denial prohibited disallowed "
            "unauthorized unauthorised unpermitted"
        ),
        ("allow", Negation.DENIAL),
    )
    | {
        "disallow": ("allow", Negation.DENIAL),
        "unreachable": ("reach", Negation.INABILITY),
        "unschedulable": ("schedule", Negation.INABILITY),
        "inaccessible": ("access", Negation.INABILITY),
        "unresponsive": ("respond", Negation.NOT),
        "disconnected": ("connect", Negation.NOT),
        "disconnect": ("connect", Negation.NOT),
        "disconnects": ("connect", Negation.NOT),
        "disconnection": ("connect", Negation.NOT),
        "disabled": ("enable", Negation.NOT),
        "disable": ("enable", Negation.NOT),
        "disables": ("enable", Negation.NOT),
        "unsuccessful": ("success", Negation.FAILURE),
        "unsuccessfully": ("success", Negation.FAILURE),
    }
    | {
        f"un{word}": (word, Negation.NOT)
        for word in _words(
            "available healthy stable resolved expected ready used related supported authenticated "
            "finished defined handled bound set changed affected recoverable usable readable "
            "writable necessary trusted verified signed encrypted locked"
        )
    }
    | {
        f"in{word}": (word, Negation.NOT)
        for word in _words(
            "valid complete correct active consistent sufficient compatible accurate"
        )
    }
)

#: Which negations in the evidence carry a negation in a visible text.
SATISFIED_BY: Final[Mapping[Negation, Negation]] = MappingProxyType(
    {
        Negation.NOT: ~Negation(0),
        Negation.NEVER: Negation.NEVER,
        Negation.NO_LONGER: Negation.NO_LONGER,
        Negation.ABSENCE: Negation.ABSENCE,
        Negation.INABILITY: (
            Negation.INABILITY
            | Negation.DENIAL
            | Negation.ABSENCE
            | Negation.FAILURE
            | Negation.NOT
        ),
        Negation.DENIAL: Negation.DENIAL | Negation.INABILITY,
        Negation.FAILURE: ~Negation(0),
    }
)

#: Words that deny existence once they are negated: *not found* says as much as *no*.
EXISTENCE: Final = frozenset({"find", "have", "contain", "see", "return", "show"})

#: Words that negate what stands beside them: *the connection failed*, *failed logins*.
FAILING: Final = frozenset({"fail", "reject", "abort"})

#: Words of a search that came back empty.
SEARCHING: Final = frozenset(
    _words(
        "find return match see show contain log record hold yield observe detect report appear "
        "empty have include search query"
    )
)

#: Things that a log line leaves unnamed since it speaks of itself.
KINDS_OF_THING: Final = frozenset(
    _words(
        "service application process container pod node cluster system job task command component "
        "workload instance program machine platform"
    )
)

#: Things that are named beside their name: *host web-1*, *file /etc/hosts*.
KINDS_OF_NAME: Final = frozenset(
    _words(
        "host server file directory path url namespace user account table column queue topic "
        "bucket image package device disk volume interface endpoint address method class function "
        "field key"
    )
)

#: Words for the evidence itself.
WITNESSES: Final = frozenset(
    _words(
        "log line entry message output evidence record event trace metric graph report problem "
        "issue incident alert investigation analysis tool"
    )
)

#: Words that open a recommendation. Anything else is read as a statement.
ADVICE: Final = frozenset(
    _words(
        "add adjust alert allow apply ask avoid check clean collect compare configure confirm "
        "consider contact correct create define delete deploy disable drain enable ensure "
        "escalate examine expand fix follow free grant identify improve increase inspect install "
        "instrument investigate keep limit look lower make mark measure migrate monitor move "
        "notify optimise optimize pause plan prevent protect provide query raise re-run reboot "
        "rebuild recreate reduce remove renew repair replace rerun reset resize resolve restart "
        "restore retry revert review roll rollback rotate run scale search see set shorten split "
        "start stop switch test trace track try tune uninstall update upgrade use validate verify "
        "wait watch"
    )
)

#: Word groups that say the same: abbreviations, families and near equals. The first is the key.
EQUIVALENTS: Final = _groups(
    "database db, application app, configuration config conf configure, maximum max maximal, "
    "minimum minimal, authentication auth authenticate, connect conn, request req, "
    "respond resp response reply, error err, message msg, memory mem, directory dir folder, "
    "repository repo, certificate cert, environment env, kubernetes k8s kube, "
    "parameter param, service svc, namespace ns, image img, package pkg, library lib, "
    "process proc, command cmd, execute exec exe executable, permission perm, "
    "password pwd passwd, address addr, number num, average avg mean, temporary temp tmp, "
    "production prod, development dev, variable var, value val, version ver, "
    "information info, statistics stats, synchronize sync synchronise, "
    "initialize init initialise, deploy rollout, volume vol, gateway gw, limit lim, "
    "find found locate discover exist existence exists, delete remove erase, "
    "stop halt cease, start begin launch boot, restart reboot, "
    "reject refuse refusal rejection, above exceed surpass, exhaust deplete, require need, "
    "fix repair, allow permit authorize, obtain acquire, send transmit, fail failure, "
    "success succeed successful successfully, expire expiry, wait waiter, latency delay, "
    "increase rise grow growth raise climb, decrease decline reduce reduction shrink, "
    "large big, little small, correct proper right, cancel cancellation, "
    "available availability, wrong incorrectly, terminate termination, crash crashloop, "
    "reach reachable, schedule schedulable, access accessible, respond responsive, "
    "overload overloaded, capacity capacities, healthy health"
)

#: Word forms that no suffix rule finds; the first is the key.
IRREGULAR: Final = _groups(
    "run ran running, lose lost loss losing, begin began begun, break broke broken, "
    "send sent, find found, write wrote written, hold held, hang hung, shut shutting, "
    "throw threw thrown, grow grew grown, rise rose risen, fall fell fallen, keep kept, "
    "build built, leave left, meet met, stick stuck, spend spent, bind bound, "
    "freeze froze frozen, read reading, hit hitting, set setting settings, put putting, "
    "choose chose chosen, lead led, feed fed, tell told, bring brought, catch caught, "
    "overrun overran, reset resetting, split splitting, use used using, die died dying, "
    "high higher highest, low lower lowest, early earlier earliest, late later latest, "
    "slow slower slowest, fast faster fastest, old older oldest, new newer newest, "
    "long longer longest, large larger largest, small smaller smallest, bad worse worst, "
    "good better best, query queries querying, index indices indexes, process processes, "
    "exhaust exhausted exhaustion, cancel cancelled canceled cancelling, "
    "retry retries retried"
)

#: Words of which one contradicts the other, by their keys.
OPPOSITES: Final[tuple[tuple[str, str], ...]] = (
    ("increase upgrade spike surge", "decrease drop fall downgrade"),
    ("high above more maximum", "low below less minimum"),
    ("before early", "after late"),
    ("first", "last"),
    ("start resume open restart", "stop pause terminate end exit close"),
    ("up online alive", "down offline dead"),
    ("success pass complete ok healthy", "fail crash error abort"),
    ("accept", "reject"),
    ("send write upload push", "receive read download pull"),
    ("fast", "slow"),
    ("full", "empty"),
    ("true", "false"),
    ("add create install", "delete uninstall"),
    ("lock obtain", "unlock release"),
    ("hit", "miss"),
    ("primary master leader", "secondary replica slave follower standby"),
    ("client", "server"),
    ("source", "destination target"),
    ("input inbound ingress incoming", "output outbound egress outgoing"),
    ("old", "new"),
    ("request", "respond"),
    ("used", "free"),
    ("long large", "short little"),
    ("better", "worse"),
)

#: Units with the dimension they measure and their size in it.
UNITS: Final[Mapping[str, tuple[str, Fraction]]] = MappingProxyType(
    {
        name: (dimension, Fraction(size))
        for dimension, size, names in (
            ("time", "1/1000000000", "ns nanosecond nanoseconds"),
            ("time", "1/1000000", "us \u03bcs microsecond microseconds"),
            ("time", "1/1000", "ms msec millisecond milliseconds"),
            ("time", "1", "s sec secs second seconds"),
            ("time", "60", "min mins minute minutes"),
            ("time", "3600", "h hr hrs hour hours"),
            ("time", "86400", "d day days"),
            ("time", "604800", "week weeks"),
            ("size", "1", "b byte bytes"),
            ("size", "1000", "kb kilobyte kilobytes"),
            ("size", "1000000", "mb megabyte megabytes"),
            ("size", "1000000000", "gb gigabyte gigabytes"),
            ("size", "1000000000000", "tb terabyte terabytes"),
            ("size", "1024", "ki kib"),
            ("size", "1048576", "mi mib"),
            ("size", "1073741824", "gi gib"),
            ("size", "1099511627776", "ti tib"),
            ("share", "1", "% percent pct"),
            ("m", "1", "m"),
            ("k", "1", "k"),
            ("g", "1", "g"),
            ("factor", "1", "x"),
            ("rate", "1", "rps qps req/s"),
            ("frequency", "1", "hz"),
        )
        for name in names.split()
    }
)

#: Prepositions that compare where a number follows.
COMPARING: Final[Mapping[str, str]] = MappingProxyType({"over": "above", "under": "below"})

#: Numbers that are written as words.
NUMBER_WORDS: Final[Mapping[str, int]] = MappingProxyType(
    {
        word: value
        for value, word in enumerate(
            _words(
                "two three four five six seven eight nine ten eleven twelve thirteen fourteen "
                "fifteen sixteen seventeen eighteen nineteen twenty"
            ),
            start=2,
        )
    }
    | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100, "thousand": 1000}
)

#: Words that make the number behind them a rounded one.
APPROXIMATE: Final = frozenset(_words("about around approximately roughly nearly almost circa"))

#: Words that make *since* a word of time.
DAYS: Final = frozenset(
    _words("monday tuesday wednesday thursday friday saturday sunday yesterday today midnight noon")
)

#: Words that lead to the place where something was looked for.
PLACES: Final = frozenset(_words("in for from on at within between of by with to until"))

#: Months by name.
MONTHS: Final[Mapping[str, int]] = MappingProxyType(
    {
        name: number
        for number, names in enumerate(
            _groups(
                "jan january,feb february,mar march,apr april,may,jun june,jul july,aug august,"
                "sep sept september,oct october,nov november,dec december"
            ),
            start=1,
        )
        for name in names.split()
    }
)
