"""Cost and specialisation: cost and energy of a task, break-even, lanes."""

import math

from ..model import Results, model
from ..parameters import fraction, integer, real
from .common import longest

__all__ = ["cost_comparison", "energy_comparison", "lane_budget", "specialisation",
           "step_energy"]


@model("cost-comparison", "4.8.4", "Two machines: time and hourly cost of the same task", [
    real("seconds_a", 1, "s", "time of the task on a"),
    real("seconds_b", 2, "s", "time of the task on b"),
    real("usd_per_hour_a", 1.5, "USD/h", "hourly cost of a"),
    real("usd_per_hour_b", 1, "USD/h", "hourly cost of b"),
    fraction("utilisation_a", 1, "share of the hours in which a works"),
    fraction("utilisation_b", 1, "share of the hours in which b works"),
], {
    "threshold_cost_ratio": ("ratio", "hourly cost of a over b below which a is cheaper"),
    "usd_a": ("USD", "cost of the task on a"),
    "usd_b": ("USD", "cost of the task on b"),
    "output_ratio": ("ratio", "tasks an hour, a over b"),
    "limited_by": ("text", "the machine that costs more for a task"),
})
def cost_comparison(seconds_a: float, seconds_b: float, usd_per_hour_a: float,
                    usd_per_hour_b: float, utilisation_a: float, utilisation_b: float) -> Results:
    """a is cheaper if cA / cB < (tB uA) / (tA uB). Source: chapter 4.8.4."""
    a = usd_per_hour_a * seconds_a / 3600 / utilisation_a
    b = usd_per_hour_b * seconds_b / 3600 / utilisation_b
    output = seconds_b * utilisation_a / (seconds_a * utilisation_b)
    return {"threshold_cost_ratio": output, "usd_a": a, "usd_b": b, "output_ratio": output,
            "limited_by": longest({"b": b, "a": a})}


@model("energy-comparison", "4.8.4", "Power at which a task costs two machines the same energy", [
    real("power_watts", None, "W", "power of the first", source="device.power_watts"),
    real("time_us", 42.9, "us", "time of the task on the first"),
    real("other_time_us", 166, "us", "time of the task on the other"),
    real("other_watts", 60, "W", "power of the other"),
], {
    "time_ratio": ("ratio", "other over first"),
    "joules": ("J", "energy of the first, at most"),
    "other_joules": ("J", "energy of the other"),
    "break_even_watts": ("W", "power of the other below which it needs less energy"),
    "limited_by": ("text", "the machine that needs more energy"),
}, {"device": "devices:pro6000"})
def energy_comparison(power_watts: float, time_us: float, other_time_us: float,
                      other_watts: float) -> Results:
    """E = P t; break-even power = P t / t_other. Source: chapter 4.8.4.

    The other machine's power of the default is an example.
    """
    joules, other = power_watts * time_us * 1e-6, other_watts * other_time_us * 1e-6
    return {"time_ratio": other_time_us / time_us, "joules": joules, "other_joules": other,
            "break_even_watts": power_watts * time_us / other_time_us,
            "limited_by": longest({"other": other, "first": joules})}


@model("step-energy", "4.8.4", "Energy of a bandwidth-bound step on two devices at full power", [
    real("gigabytes", 16.344778752, "GB", "bytes of a step"),
    real("power_a_watts", None, "W", "power of device_a", source="device_a.power_watts"),
    real("power_b_watts", None, "W", "power of device_b", source="device_b.power_watts"),
    real("bandwidth_a_gb_per_s", None, "GB/s", "bandwidth of device_a",
         source="device_a.bandwidth_gb_per_s"),
    real("bandwidth_b_gb_per_s", None, "GB/s", "bandwidth of device_b",
         source="device_b.bandwidth_gb_per_s"),
], {
    "joules_a": ("J", "energy on device_a, at most"),
    "joules_b": ("J", "energy on device_b, at most"),
    "power_increase": ("ratio", "power of a over b, minus 1"),
    "energy_decrease": ("ratio", "1 minus energy of a over b"),
}, {"device_a": "devices:rtx5090", "device_b": "devices:rtx4090"})
def step_energy(gigabytes: float, power_a_watts: float, power_b_watts: float,
                bandwidth_a_gb_per_s: float, bandwidth_b_gb_per_s: float) -> Results:
    """E = P V / R. Source: chapter 4.8.4."""
    a = power_a_watts * gigabytes / bandwidth_a_gb_per_s
    b = power_b_watts * gigabytes / bandwidth_b_gb_per_s
    return {"joules_a": a, "joules_b": b, "power_increase": power_a_watts / power_b_watts - 1,
            "energy_decrease": 1 - a / b}


@model("specialisation", "4.8.4", "Extra fixed cost against a saving for each token", [
    real("fixed_usd", 20_000_000, "USD", "extra fixed cost"),
    real("saving_usd", 0.50, "USD", "saving for each million tokens"),
    integer("machines", 100, "machines", "machines", high=1 << 30),
    real("tokens_per_s", 10000, "token/s", "rate of a machine at work"),
    fraction("utilisation", 0.5, "share of the time at work"),
    real("life_days", 365, "day", "days for which the model is used"),
], {
    "break_even_tokens": ("token", "tokens that pay the fixed cost back"),
    "life_seconds": ("s", "time for which the model is used"),
    "life_tokens": ("token", "tokens of all machines in that time"),
    "life_share": ("ratio", "these over the tokens to break even"),
    "least_machines": ("machines", "machines that break even in that time"),
    "life_saving_usd": ("USD", "saving in that time"),
    "break_even_seconds": ("s", "time to break even with these machines"),
    "limited_by": ("text", "what is larger in that time: fixed cost or saving"),
})
def specialisation(fixed_usd: float, saving_usd: float, machines: int, tokens_per_s: float,
                   utilisation: float, life_days: float) -> Results:
    """V = F / (d / 1e6); machines = ceil(V / (q u L)). Source: chapter 4.8.4."""
    tokens, life = fixed_usd / (saving_usd / 1e6), life_days * 86400
    one = tokens_per_s * utilisation * life
    saving = machines * one * saving_usd / 1e6
    return {"break_even_tokens": tokens, "life_seconds": life, "life_tokens": machines * one,
            "life_share": machines * one / tokens, "least_machines": math.ceil(tokens / one),
            "life_saving_usd": saving,
            "break_even_seconds": tokens / (machines * tokens_per_s * utilisation),
            "limited_by": longest({"fixed cost": fixed_usd, "saving": saving})}


@model("lane-budget", "4.7.3", "Multiply-add lanes for an amount of work in a given time", [
    real("operations", 15134641792, "ops", "operations of the recorded workload"),
    real("clock_ghz", 2, "GHz", "clock"),
    real("time_us", 100, "us", "time allowed"),
    fraction("utilisation", 1, "share of the lanes' time at work"),
    integer("operations_per_lane", 1, "ops", "operations of a lane in a cycle, as `operations` "
            "counts them", high=1 << 20),
    integer("lanes", 256, "lanes", "lanes of a given machine", high=1 << 40),
], {
    "lanes_needed": ("lanes", "lanes for the time allowed"),
    "given_seconds": ("s", "time with the given lanes"),
    "lane_factor": ("ratio", "needed over given lanes"),
})
def lane_budget(operations: float, clock_ghz: float, time_us: float, utilisation: float,
                operations_per_lane: int, lanes: int) -> Results:
    """ceil(ops / (f o t u)). Source: chapter 4.7.3.

    The chapter's lanes do 1 operation of its count in a cycle; a multiply-add counted as two
    is operations_per_lane=2.
    """
    rate = clock_ghz * 1e9 * operations_per_lane
    needed = math.ceil(operations / (rate * time_us * 1e-6 * utilisation))
    return {"lanes_needed": needed, "given_seconds": operations / (rate * lanes),
            "lane_factor": needed / lanes}
