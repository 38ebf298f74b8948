"""OpenSearch's User Behavior Insights (UBI 1.3): query records and events, Wayword's own or anyone's, as a log."""
