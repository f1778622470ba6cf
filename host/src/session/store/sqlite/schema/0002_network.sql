-- The network rules of a session's browser, as JSON; NULL is the default rules. network has those that the last lease
-- requires, network_held those that the keeper enforces.
ALTER TABLE session ADD COLUMN network TEXT;
ALTER TABLE session ADD COLUMN network_held TEXT;
