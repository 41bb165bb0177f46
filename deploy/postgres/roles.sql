-- Roles and schemas: one login role and one schema per service, both of one name.
--
--   psql -v api_password=… -v quoter_password=… -v chain_watcher_password=… \
--        -v settler_password=… -v notifier_password=… -v dashboard_password=… \
--        -v auditor_password=… \
--        -f roles.sql <the database's owner's connection>
--
-- May be run again: it changes what is different and nothing else. A password that is not given
-- is left as it is; a role without one cannot log in by password.
--
-- Who may do what: a service owns its schema and writes nothing else. All services may read each
-- other's outboxes and watermarks (`outbox_reader`; each service's first migration grants them),
-- but for the dashboard, which asks the api alone.
-- `auditor` reads everything and writes nothing.
--
-- A superuser may run it, or the database's owner with CREATEROLE: managed PostgreSQL gives no more.

\set ON_ERROR_STOP on

SELECT format('CREATE ROLE %I %s', name, attributes)
FROM (VALUES
  ('outbox_reader', 'NOLOGIN'),
  ('auditor', 'LOGIN'),
  ('api', 'LOGIN'),
  ('quoter', 'LOGIN'),
  ('chain_watcher', 'LOGIN'),
  ('settler', 'LOGIN'),
  ('notifier', 'LOGIN'),
  ('dashboard', 'LOGIN')
) AS wanted(name, attributes)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

-- Who is no superuser makes schemas for the roles, and views over their tables, as a member of them.
SELECT format('GRANT %I TO CURRENT_USER WITH INHERIT TRUE, SET TRUE', role)
FROM unnest(ARRAY['api', 'quoter', 'chain_watcher', 'settler', 'notifier', 'dashboard']) AS role
WHERE NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) \gexec

\if :{?api_password}
ALTER ROLE api PASSWORD :'api_password';
\endif
\if :{?quoter_password}
ALTER ROLE quoter PASSWORD :'quoter_password';
\endif
\if :{?chain_watcher_password}
ALTER ROLE chain_watcher PASSWORD :'chain_watcher_password';
\endif
\if :{?settler_password}
ALTER ROLE settler PASSWORD :'settler_password';
\endif
\if :{?notifier_password}
ALTER ROLE notifier PASSWORD :'notifier_password';
\endif
\if :{?dashboard_password}
ALTER ROLE dashboard PASSWORD :'dashboard_password';
\endif
\if :{?auditor_password}
ALTER ROLE auditor PASSWORD :'auditor_password';
\endif

GRANT outbox_reader TO api, quoter, chain_watcher, settler, notifier;

-- Nobody has a right by default: not to connect, not to make things in public.
SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database()) \gexec
REVOKE ALL ON SCHEMA public FROM PUBLIC;
SELECT format('GRANT CONNECT ON DATABASE %I TO api, quoter, chain_watcher, settler, notifier, dashboard, auditor',
              current_database()) \gexec

SELECT format('CREATE SCHEMA IF NOT EXISTS %I AUTHORIZATION %I', name, name)
FROM unnest(ARRAY['api', 'quoter', 'chain_watcher', 'settler', 'notifier', 'dashboard']) AS name \gexec

SELECT format('ALTER ROLE %I IN DATABASE %I SET search_path = %I', name, current_database(), name)
FROM unnest(ARRAY['api', 'quoter', 'chain_watcher', 'settler', 'notifier', 'dashboard']) AS name \gexec

-- What a service grants for itself in its first migration: USAGE on its schema and SELECT.
-- The auditor also sees tables that are made later, whoever of the services makes them.
SELECT format('GRANT USAGE ON SCHEMA %I TO auditor', name)
FROM unnest(ARRAY['api', 'quoter', 'chain_watcher', 'settler', 'notifier', 'dashboard']) AS name \gexec
ALTER ROLE auditor SET default_transaction_read_only = on;
