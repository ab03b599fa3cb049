"""Model actors on Ray: each holds the model in a process of its own, on this machine or on the nodes of a cluster.

The driver reads, decodes and logs; an actor gets requests and gives replies, so that only one process writes.
"""

import contextlib
import importlib.util
import math
import os
import pickle
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from otoscope.errors import ModelLoadingError, OtoscopeError, RunError, UsageError
from otoscope.models.protocol import Model, Reply, Request
from otoscope.records import digest, dump_json
from otoscope.runner.engine import Answered, LocalEngine

TRIES = 3
"""How often a request may lose an actor that had nothing else to do, until it is an error."""
MOST_LOST = 20
"""How many actors may end before any has answered, until the model is held to be at fault and not the requests."""
AHEAD = 2
"""Calls in flight an actor: the one that it works on, and the next, so that it never waits for the driver."""
START_SECONDS = 1800.0
"""How long a run waits while no actor is ready. A cluster that grows, or a node that fetches weights, takes minutes."""
LOOK_SECONDS = 0.1
CLOSE_SECONDS = 10.0
KNOCK_SECONDS = 10.0

Recipe = Callable[[], Model]


@dataclass(frozen=True, slots=True)
class Actors:
    """What actors a run is to have.

    Attributes:
        address: of the cluster, or an empty string for RAY_ADDRESS, else for a cluster of this machine alone.
        number: how many actors, or None for as many as the cluster has room for.
        gpus: GPUs an actor; a fraction lets several share one.
        cpus: CPU cores an actor; Ray tells its libraries to use no more.
    """

    address: str = ""
    number: int | None = None
    gpus: float = 0
    cpus: float = 1


class ModelActor:
    """Runs in the actor's process.

    Args:
        recipe: pickled function that makes the model.
        folder: where the driver runs; taken as the working folder if the node has it too.
    """

    def __init__(self, recipe: bytes, folder: str) -> None:
        self._recipe = recipe
        self._folder = Path(folder)

    def start(self) -> str:
        """Make the model, without its weights, and return its identity.

        Raises:
            ModelLoadingError: this node lacks something that the model is made of.
        """
        if self._folder.is_dir():
            os.chdir(self._folder)
        try:
            model = pickle.loads(self._recipe)()  # noqa: S301 - the driver of this very run wrote it
        except (OtoscopeError, ImportError, AttributeError, pickle.UnpicklingError) as error:
            raise ModelLoadingError(
                f"node {socket.gethostname()}: the model cannot be made: {error}; install there what is installed here"
            ) from None
        self._engine = LocalEngine(model)
        return identify(model)

    def answer(self, requests: bytes) -> Answered:
        """Ask the model, which loads its weights the first time."""
        return self._engine.ask(pickle.loads(requests))  # noqa: S301 - the driver of this very run wrote them


@dataclass(slots=True, eq=False)
class _Seat:
    """A place in the pool, taken by one actor after the other.

    Attributes:
        actor: handle of the actor.
        starting: what it will say of its model, or None once it has.
        load: calls in flight.
        claimed: whether it takes no further calls until one that wants it for itself is done.
    """

    actor: Any
    starting: Any | None
    load: int = 0
    claimed: bool = False


class RayEngine:
    """Asks a pool of model actors that lives as long as the run.

    An actor that ends, with its node or alone, is replaced. What was in flight to it is asked again one request at a
    time, each with an actor to itself; a request that ends ``TRIES`` actors so is an error, and the others go on.

    Args:
        model: the model as the driver knows it; it is not asked.
        recipe: makes the same model in an actor.
        actors: what actors to have.

    Raises:
        UsageError: the numbers make no sense.
        ModelLoadingError: Ray is not installed, or the recipe cannot be sent to another process.
    """

    def __init__(self, model: Model, recipe: Recipe, actors: Actors) -> None:
        if importlib.util.find_spec("ray") is None:
            raise ModelLoadingError("--engine ray needs Ray: pip install 'otoscope[ray]'")
        fewest = 1 if actors.number is None else actors.number
        sizes = (actors.gpus, actors.cpus)
        if fewest < 1 or not all(0 <= size < math.inf for size in sizes) or not any(sizes):
            raise UsageError(
                f"--actors {fewest} --gpus-per-actor {actors.gpus:g} --cpus-per-actor {actors.cpus:g}: a run has one "
                "or more actors, and an actor has CPUs or GPUs"
            )
        self._wanted = actors
        self._identity = identify(model)
        self._calls = model.concurrency
        self._recipe = _pickle(recipe, model.id)
        self._changed = threading.Condition()
        self._seats: list[_Seat] = []
        self._ready_at = 0.0
        self._answered = False
        self._lost = 0
        self._owns_cluster = False
        self._closed = False

    @property
    def concurrency(self) -> int:
        """Calls in flight over all actors."""
        return self._number * self._share

    @property
    def _share(self) -> int:
        return max(AHEAD, self._calls)

    def ask(self, requests: Sequence[Request]) -> Answered:
        """Ask an actor, and as often as needed others.

        Raises:
            ModelLoadingError: the actors cannot make the model, or end before any answers.
            RunError: no actor can be had.
        """
        answered = self._ask(requests)
        if answered is not None:
            return answered
        each = [self._ask_alone(request) for request in requests]
        return Answered([reply for one in each for reply in one.replies], sum(one.seconds for one in each))

    def close(self) -> None:
        """End the actors, and the cluster if it was started here."""
        with self._changed:
            self._closed = True
            for seat in self._seats:
                _kill(seat.actor)
            self._changed.wait_for(lambda: not any(seat.load for seat in self._seats), CLOSE_SECONDS)
            self._changed.notify_all()
        if self._owns_cluster:
            import ray

            ray.shutdown()

    def _ask_alone(self, request: Request) -> Answered:
        for _ in range(TRIES):
            answered = self._ask([request], alone=True)
            if answered is not None:
                return answered
        reason = f"the process that was asked ended before it answered, {TRIES} times with this request alone"
        return Answered([Reply(error=reason)], 0.0)

    def _ask(self, requests: Sequence[Request], *, alone: bool = False) -> Answered | None:
        """Return the answer of one actor, or None if that actor has ended."""
        import ray

        seat = self._claim() if alone else self._take()
        actor, answered = seat.actor, None
        try:
            answered = ray.get(actor.answer.remote(pickle.dumps(requests)))
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayError:
            self._lose(seat, actor)
        finally:
            self._release(seat, alone=alone)
        self._answered = self._answered or answered is not None
        return answered

    def _take(self) -> _Seat:
        """Wait for a place in the queue of the least busy actor."""
        with self._changed:
            while True:
                free = [seat for seat in self._ready() if not seat.claimed and seat.load < self._share]
                if free:
                    seat = min(free, key=lambda seat: seat.load)
                    seat.load += 1
                    return seat
                self._changed.wait(LOOK_SECONDS)

    def _claim(self) -> _Seat:
        """Wait for an actor to oneself, so that nobody pays for another's request."""
        mine: _Seat | None = None
        with self._changed:
            while True:
                ready = self._ready()
                if mine is not None and mine not in ready:  # it has ended, and its place may stay empty
                    mine.claimed, mine = False, None
                if mine is None:
                    mine = min((seat for seat in ready if not seat.claimed), key=lambda seat: seat.load, default=None)
                if mine is not None:
                    mine.claimed = True
                    if not mine.load:
                        mine.load = 1
                        return mine
                self._changed.wait(LOOK_SECONDS)

    def _release(self, seat: _Seat, *, alone: bool) -> None:
        with self._changed:
            seat.load -= 1
            seat.claimed = seat.claimed and not alone
            self._changed.notify_all()

    def _lose(self, seat: _Seat, actor: Any) -> None:
        """Fill the place of an actor that has ended."""
        with self._changed:
            if seat.actor is actor and not self._closed:
                self._replace(seat)

    def _ready(self) -> list[_Seat]:
        """Return the places whose actors can be asked; the caller holds the lock."""
        if self._closed:
            raise RunError("the run has ended")
        if not self._seats:
            self._seats = [_Seat(*self._start()) for _ in range(self._number)]
            self._ready_at = time.monotonic()
        for seat in self._seats:
            if seat.starting is not None:
                self._greet(seat)
        ready = [seat for seat in self._seats if seat.starting is None]
        if ready:
            self._ready_at = time.monotonic()
        elif time.monotonic() - self._ready_at > START_SECONDS:
            raise RunError(
                f"no actor of {self._wanted.cpus:g} CPUs and {self._wanted.gpus:g} GPUs was ready for {START_SECONDS:g}"
                " s; see `ray status` for what the cluster has, and run the same command again to go on"
            )
        return ready

    def _start(self) -> tuple[Any, Any]:
        """Return a new actor, and what it will say of its model."""
        import ray

        options = {
            "num_cpus": self._wanted.cpus,
            "num_gpus": self._wanted.gpus,
            "max_concurrency": self._calls,
            "max_restarts": 0,
            "scheduling_strategy": "SPREAD",
        }
        actor = ray.remote(ModelActor).options(**options).remote(self._recipe, os.getcwd())  # noqa: PTH109 - a string
        return actor, actor.start.remote()

    def _greet(self, seat: _Seat) -> None:
        """Let an actor that has started into the pool, and replace one that has ended before.

        Raises:
            ModelLoadingError: the model is another one there, or cannot be made.
        """
        import ray

        if not ray.wait([seat.starting], timeout=0)[0]:
            return
        try:
            identity = ray.get(seat.starting)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayError:
            self._replace(seat)
            return
        if identity != self._identity:
            raise ModelLoadingError(
                f"an actor made another model than the driver: {identity} is not {self._identity}; use the same "
                "version of Otoscope and the same weights on every node"
            )
        seat.starting = None

    def _replace(self, seat: _Seat) -> None:
        self._lost += 1
        if not self._answered and self._lost >= MOST_LOST:
            raise ModelLoadingError(
                f"{self._lost} actors ended before any had answered; if memory ran out give each more "
                "(--cpus-per-actor, --gpus-per-actor), and see the logs of Ray's session for its last words"
            )
        _kill(seat.actor)  # one that cannot be reached may still live
        seat.actor, seat.starting = self._start()

    @cached_property
    def _number(self) -> int:
        self._connect()
        return self._wanted.number or self._count_room()

    def _connect(self) -> None:
        """Join the cluster, or start one on this machine.

        Raises:
            RunError: there is no cluster at the address.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is to be reported to anybody
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # what Ray would warn of
        import ray

        if ray.is_initialized():
            return
        # Without an address Ray would join whatever ran on this machine last, and wait for it if it has gone.
        address = self._wanted.address or os.environ.get("RAY_ADDRESS") or "local"
        _knock(address)
        here = {"include_dashboard": False} if address == "local" else {}
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", **here)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise RunError(f"no Ray cluster can be joined at {address}: {error}") from error
        self._owns_cluster = True

    def _count_room(self) -> int:
        """Return how many actors fit the nodes that are there.

        Raises:
            UsageError: none does.
        """
        import ray

        wanted = {"CPU": self._wanted.cpus, "GPU": self._wanted.gpus}
        room = 0
        for node in ray.nodes():
            if node["Alive"]:
                has = node["Resources"]
                room += min(int(has.get(name, 0) // amount) for name, amount in wanted.items() if amount)
        if not room:
            raise UsageError(
                f"no node of the cluster has {self._wanted.cpus:g} CPUs and {self._wanted.gpus:g} GPUs for an actor; "
                "give --actors to wait until one joins"
            )
        return room


def identify(model: Model) -> str:
    """Return what must be equal in the driver and in every actor: the model, what it takes, and who asks it."""
    taken = {"settings": dict(model.settings), "intake": asdict(model.intake)}
    return f"{model.id} {digest(dump_json(taken))} otoscope {version('otoscope')}"


def _pickle(recipe: Recipe, name: str) -> bytes:
    import ray.cloudpickle

    try:
        return bytes(ray.cloudpickle.dumps(recipe))
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise ModelLoadingError(
            f"{name}: the model cannot be sent to an actor: {error}; give a spec, or an object that can be pickled"
        ) from error


def _knock(address: str) -> None:
    """Make sure that somebody listens at ``HOST:PORT``; Ray itself would try for minutes.

    Raises:
        RunError: nobody does.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        return
    try:
        socket.create_connection((host, int(port)), KNOCK_SECONDS).close()
    except OSError as error:
        raise RunError(f"no Ray cluster listens at {address}: {error}; give the --address of `ray start`") from error


def _kill(actor: Any) -> None:
    import ray

    with contextlib.suppress(ray.exceptions.RayError):
        ray.kill(actor)
