-- What the browser of a session may reach, as JSON; NULL is what holds by default. The lease orders it, and the keeper
-- says what it enforces.
ALTER TABLE session ADD COLUMN network TEXT;
ALTER TABLE session ADD COLUMN network_held TEXT;
