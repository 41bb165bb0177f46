"""SQL of the dashboard, except second factors and the status page, which have their own."""

from __future__ import annotations

from typing import Final

from swap_runtime.postgres.sql import sql

ADD_ACCOUNT: Final = sql("""
INSERT INTO account (id, email, password_hash, created_at)
VALUES (:id, :email, :password_hash, :at) ON CONFLICT (email) DO NOTHING
""")
ACCOUNT: Final = """
SELECT id, email, password_hash, email_confirmed_at IS NOT NULL AS is_email_confirmed,
       email_confirmed_at IS NULL OR coalesce(password_set_at >= email_confirmed_at, false)
           AS has_password
FROM account
"""
FIND_ACCOUNT: Final = sql(f"{ACCOUNT} WHERE email = :email")
FIND_ACCOUNT_BY_ID: Final = sql(f"{ACCOUNT} WHERE id = :id")
# The account may have been made by someone who does not own the email: the password is replaced.
CONFIRM_EMAIL: Final = sql("""
UPDATE account SET email_confirmed_at = :at, password_hash = :password_hash
WHERE id = :id AND email_confirmed_at IS NULL
""")
END_LINKS: Final = sql("DELETE FROM sign_in_link WHERE account_id = :account_id")
END_PENDING: Final = sql("DELETE FROM pending_sign_in WHERE account_id = :account_id")
SET_PASSWORD: Final = sql("""
UPDATE account SET password_hash = :password_hash, password_set_at = :at WHERE id = :id
""")
SET_FIRST_PASSWORD: Final = sql("""
UPDATE account SET password_hash = :password_hash, password_set_at = :at
WHERE id = :id AND email_confirmed_at IS NOT NULL
  AND (password_set_at IS NULL OR password_set_at < email_confirmed_at)
""")

# The session is used up with it: a second request of the same session changes nothing.
REPLACE_LOST_PASSWORD: Final = sql("""
WITH used AS (
  UPDATE session SET is_by_link = false
  WHERE id = :session_id AND account_id = :id AND is_by_link AND created_at >= :since
  RETURNING account_id)
UPDATE account SET password_hash = :password_hash, password_set_at = :at
FROM used WHERE account.id = used.account_id
""")

ADD_MEMBERSHIP: Final = sql("""
INSERT INTO membership (id, account_id, organization_id, organization_name, member_id,
                        sealed_token, token_id, token_expires_at, created_at)
VALUES (:id, :account_id, :organization_id, :organization_name, :member_id,
        :sealed_token, :token_id, :token_expires_at, :at)
ON CONFLICT (account_id, organization_id) DO NOTHING
""")
REMOVE_MEMBERSHIP: Final = sql("""
DELETE FROM membership WHERE account_id = :account_id AND organization_id = :organization_id
""")
MEMBERSHIPS: Final = sql("""
SELECT id, account_id, organization_id, organization_name, token_expires_at FROM membership
WHERE account_id = :account_id ORDER BY created_at, id
""")
SEALED_TOKEN: Final = sql("SELECT sealed_token FROM membership WHERE id = :id")
REPLACE_TOKEN: Final = sql("""
UPDATE membership SET sealed_token = :sealed_token, token_id = :token_id,
                      token_expires_at = :token_expires_at
WHERE id = :id
""")

# A sign-in takes longer than a change of the password, which ends every session that there is. The
# lock orders the two: the session is there before the change, or finds another password.
ADD_SESSION: Final = sql("""
INSERT INTO session (token_hash, id, account_id, membership_id, created_at, last_seen_at,
                     expires_at, browser, address, is_by_provider, is_by_link)
SELECT :token_hash, :id, id, :membership_id, :created_at, :last_seen_at,
       :expires_at, :browser, :address, :is_by_provider, :is_by_link
FROM account WHERE id = :account_id AND password_hash = :password_hash FOR SHARE
""")
SESSION: Final = """session.id, session.account_id, account.email, session.membership_id,
       session.created_at, session.last_seen_at, session.expires_at, session.browser,
       session.address, session.is_by_provider, session.is_by_link"""
FIND_SESSION: Final = sql(f"""
SELECT {SESSION} FROM session JOIN account ON account.id = session.account_id
WHERE session.token_hash = :token_hash AND session.expires_at > :at
  AND session.last_seen_at > :idle_since
""")
UPDATE_LAST_SEEN: Final = sql("UPDATE session SET last_seen_at = :at WHERE id = :id")
OPEN_SESSIONS: Final = sql(f"""
SELECT {SESSION} FROM session JOIN account ON account.id = session.account_id
WHERE session.account_id = :account_id AND session.expires_at > :at
  AND session.last_seen_at > :idle_since
ORDER BY session.last_seen_at DESC
""")
USE_MEMBERSHIP: Final = sql("""
UPDATE session SET membership_id = membership.id FROM membership
WHERE session.id = :id AND membership.id = :membership_id
  AND membership.account_id = session.account_id
""")
END_SESSION: Final = sql("DELETE FROM session WHERE id = :id AND account_id = :account_id")
END_ALL: Final = sql("""
DELETE FROM session
WHERE account_id = :account_id AND (CAST(:but AS uuid) IS NULL OR id <> CAST(:but AS uuid))
""")
FORGET_SESSIONS: Final = sql("""
DELETE FROM session WHERE expires_at <= :at OR last_seen_at <= :idle_since
""")

ADD_LINK: Final = sql("""
INSERT INTO sign_in_link (token_hash, account_id, expires_at)
VALUES (:token_hash, :account_id, :expires_at)
""")
LINK_EMAIL: Final = sql("""
SELECT account.email FROM sign_in_link JOIN account ON account.id = sign_in_link.account_id
WHERE sign_in_link.token_hash = :token_hash AND sign_in_link.expires_at > :at
""")
TAKE_LINK: Final = sql("""
DELETE FROM sign_in_link WHERE token_hash = :token_hash AND expires_at > :at RETURNING account_id
""")

# Counted before the password is compared: a hundred at once are a hundred failures.
# 2^10 seconds are beyond the longest pause; power() overflows at 2^1024.
BEGIN_ATTEMPT: Final = sql("""
INSERT INTO sign_in_failure AS known (key, failures, blocked_until, last_at)
VALUES (:key, 1, :at, :at)
ON CONFLICT (key) DO UPDATE SET
  failures = CASE WHEN known.last_at < :forgotten THEN 1 ELSE known.failures + 1 END,
  blocked_until = CASE
    WHEN known.last_at < :forgotten OR known.failures < :free THEN :at
    ELSE CAST(:at AS timestamptz) + make_interval(secs => least(
      CAST(:pause_max AS float8), power(2, least(known.failures - CAST(:free AS int) + 1, 10))))
  END,
  last_at = :at
WHERE known.blocked_until <= :at
RETURNING failures
""")
BLOCKED_UNTIL: Final = sql("SELECT blocked_until FROM sign_in_failure WHERE key = :key")
# After a success: an email's failures are forgotten; an address gets this attempt taken back.
CLEAR_FAILURES: Final = sql("DELETE FROM sign_in_failure WHERE key = :key")
TAKE_BACK: Final = sql("""
UPDATE sign_in_failure SET failures = greatest(failures - 1, 0), blocked_until = last_at
WHERE key = :key
""")
FORGET_FAILURES: Final = sql("DELETE FROM sign_in_failure WHERE last_at < :before")
