"""Hypothesis on a busy machine: how long an example takes says nothing about whether it is right."""

from hypothesis import HealthCheck, settings

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")
