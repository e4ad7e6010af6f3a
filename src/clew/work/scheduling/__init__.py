"""Many runs: modes of `work`, parallel schedules, retries, and the watch."""
