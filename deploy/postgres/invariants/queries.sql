-- The invariants of the system. Each query returns the rows that break it; none may.
-- They run over the views beside this file, as the role auditor with search_path = invariant.
-- name: I-01 unbalanced ledger transaction
SELECT p.txn_id, a.chain_id, a.token, sum(p.amount) FROM posting p JOIN account a ON a.id=p.account_id GROUP BY 1,2,3 HAVING sum(p.amount)<>0;
-- name: I-02 asset does not sum to zero over the whole ledger
SELECT a.chain_id, a.token, sum(p.amount) FROM posting p JOIN account a ON a.id=p.account_id GROUP BY 1,2 HAVING sum(p.amount)<>0;
-- name: I-03 an account that may not go negative did (liability overdrawn or custody overspent)
SELECT a.id, a.kind, a.swap_id, sum(p.amount) FROM account a JOIN posting p ON p.account_id=a.id WHERE NOT a.may_go_negative
GROUP BY a.id, a.kind, a.swap_id HAVING CASE WHEN a.kind IN('custody','gas_expense','loss','payout_suspense') THEN sum(p.amount)<0 ELSE sum(p.amount)>0 END;
-- name: I-04 main leg of a closed swap still owes or holds value (refuel accounts and claimable balances outlive it)
SELECT s.id, s.status, a.chain_id, a.token, sum(p.amount) FROM swap s JOIN account a ON a.swap_id=s.id AND a.deposit_id IS NULL AND a.kind IN('swap_liability','in_flight') JOIN posting p ON p.account_id=a.id
WHERE s.status IN('completed','refunded') GROUP BY 1,2,3,4 HAVING sum(p.amount)<>0;
-- name: I-05 leg has a live payout and a live refund (a reverted payout counts as live until proven dead)
SELECT o.swap_id, o.deposit_id FROM intent o JOIN intent r ON (o.swap_id,o.deposit_id) IS NOT DISTINCT FROM (r.swap_id,r.deposit_id)
WHERE o.kind='output' AND r.kind='refund' AND o.state<>'dead' AND r.state<>'dead';
-- name: I-06 more than one success within a leg and kind (Paid.intentId is one-time: a second log of it counts too)
SELECT i.swap_id, i.deposit_id, i.kind FROM intent i JOIN success s ON s.intent_id=i.id WHERE i.kind IN('output','refuel','refund','claim')
GROUP BY 1,2,3 HAVING count(DISTINCT s.tx_hash)>1 OR count(s.movement_id)>1;
-- name: I-07 leg pays without a credit, or its payments plus fees exceed it (a leg with a standing loss entry is skipped)
SELECT i.swap_id, i.deposit_id, sum(i.charged) charged, max(c.credit) credit FROM intent i CROSS JOIN LATERAL
 (SELECT coalesce(sum(CASE WHEN i.deposit_id IS NULL THEN d.amount-d.returned ELSE d.returned END),0) credit FROM deposit d
  WHERE d.state='credited' AND (i.deposit_id IS NULL AND d.swap_id=i.swap_id OR d.id=i.deposit_id)) c
WHERE i.kind IN('output','refuel','refund') AND i.state<>'dead' AND NOT EXISTS(SELECT 1 FROM account a JOIN posting p ON p.account_id=a.id
 WHERE a.kind='loss' AND (a.swap_id,a.deposit_id) IS NOT DISTINCT FROM (i.swap_id,i.deposit_id) HAVING sum(p.amount)>0)
GROUP BY 1,2 HAVING max(c.credit)=0 OR sum(i.charged)>max(c.credit);
-- name: I-08 credited deposit without its own incoming movement on a canonical block, or of another amount, token or network than it or its swap
SELECT d.id FROM deposit d LEFT JOIN movement m USING(chain_id,block_hash,id) LEFT JOIN chain_block b ON b.chain_id=d.chain_id AND b.hash=d.block_hash LEFT JOIN swap s ON s.id=d.swap_id
WHERE d.state='credited' AND (m.amount IS NULL OR m.amount<>d.amount OR m.token<>d.token OR m.kind='paid' OR m.internal OR m.claimed_by IS NOT NULL
 OR b.state IS DISTINCT FROM 'canonical' OR (s.src_chain,s.src_token)<>(d.chain_id,d.token));
-- name: I-09 credits in one tx exceed the value that tx moved into custody (double detection)
SELECT m.chain_id, coalesce(m.tx_hash,uuid_send(m.id)) tx, m.token, sum(d.amount) credited, max(v.moved) moved FROM deposit d JOIN movement m USING(chain_id,block_hash,id)
LEFT JOIN (SELECT m.chain_id,m.block_hash,coalesce(m.tx_hash,uuid_send(m.id)) tx,m.token,sum(m.amount) moved FROM movement m
           WHERE m.kind IN('token_transfer','native_received','balance_rose') AND NOT m.internal GROUP BY 1,2,3,4) v
 ON (v.chain_id,v.block_hash,v.tx,v.token)=(m.chain_id,m.block_hash,coalesce(m.tx_hash,uuid_send(m.id)),m.token)
WHERE d.state='credited' GROUP BY 1,2,3 HAVING sum(d.amount)>coalesce(max(v.moved),0);
-- name: I-10 finalized movement into custody that nobody decided on (missed deposit)
SELECT m.* FROM movement m JOIN chain_block b ON b.chain_id=m.chain_id AND b.hash=m.block_hash AND b.state='canonical' AND b.finalized
WHERE m.kind<>'paid' AND NOT m.internal AND m.claimed_by IS NULL AND NOT EXISTS(SELECT 1 FROM deposit d WHERE d.id=m.id AND d.state<>'reverted');
-- name: I-11 gap or broken parent link in the canonical chain we processed
SELECT b.chain_id, b.number FROM chain_block b JOIN watch_cursor c USING(chain_id) LEFT JOIN chain_block p ON p.chain_id=b.chain_id AND p.number=b.number-1 AND p.state='canonical'
WHERE b.state='canonical' AND b.number>c.start_number AND (p.hash IS NULL OR p.hash<>b.parent_hash);
-- name: I-12 block we called final is not canonical
SELECT chain_id, number FROM chain_block WHERE finalized AND state<>'canonical';
-- name: I-13 nonce gap below the highest slot of a signer
SELECT chain_id, signer, nonce+1 missing FROM (SELECT chain_id, signer, nonce, lead(nonce) OVER (PARTITION BY chain_id, signer ORDER BY nonce) above FROM nonce_slot) s
WHERE above>nonce+1;
-- name: I-14 chain shows a transaction of our signer that neither the service signed nor an operator named, or a Paid log that neither explains (intent, token, recipient, amount)
SELECT x.chain_id, x.tx_hash FROM signer_tx x LEFT JOIN attempt t USING(chain_id,tx_hash) WHERE t.tx_hash IS NULL
 AND NOT EXISTS(SELECT 1 FROM foreign_tx f WHERE (f.chain_id,f.tx_hash)=(x.chain_id,x.tx_hash))
UNION ALL SELECT m.chain_id, m.tx_hash FROM movement m JOIN chain_block b ON b.chain_id=m.chain_id AND b.hash=m.block_hash AND b.state='canonical'
WHERE m.kind='paid' AND NOT EXISTS(SELECT 1 FROM success s JOIN intent i ON i.id=s.intent_id
 WHERE (s.chain_id,s.movement_id)=(m.chain_id,m.id) AND (i.token,i.to_addr,i.amount)=(m.token,m.to_addr,m.amount))
 AND NOT EXISTS(SELECT 1 FROM taken_payment t WHERE (t.chain_id,t.tx_hash,t.paid_id)=(m.chain_id,m.tx_hash,m.paid_id));
-- name: I-15 intent holds a second nonce slot although an earlier one was never proven dead
SELECT n.intent_id, count(*) FROM slot_intent n JOIN intent i ON i.id=n.intent_id
WHERE i.kind<>'cancel' AND NOT EXISTS(SELECT 1 FROM dead_slot d WHERE (d.chain_id,d.signer,d.nonce)=(n.chain_id,n.signer,n.nonce)) GROUP BY 1 HAVING count(*)>1;
-- name: I-16 replacement below the strictest client rule (12.5 % on both fee fields)
SELECT tx_hash FROM (SELECT *, lag(max_fee) OVER w pf, lag(tip) OVER w pt FROM attempt WINDOW w AS(PARTITION BY chain_id,signer,nonce ORDER BY signed_at)) q
WHERE pf IS NOT NULL AND (max_fee*1000<pf*1125 OR tip*1000<pt*1125);
-- name: I-17 confirmed intent whose payment is not final under the network's policy, or is not the one ordered
SELECT i.id FROM intent i WHERE i.state='confirmed' AND NOT EXISTS(SELECT 1 FROM success s JOIN policy_final f ON (f.chain_id,f.hash)=(s.chain_id,s.block_hash)
 WHERE s.intent_id=i.id AND (i.paid_id IS NULL OR (s.token,s.to_addr,s.amount)=(i.token,i.to_addr,i.amount)));
-- name: I-18 intent called dead without proof: it moved value, or a value-moving attempt of it was committed on a slot not proven dead
SELECT i.id FROM intent i WHERE i.state='dead' AND (EXISTS(SELECT 1 FROM success s WHERE s.intent_id=i.id) OR EXISTS(SELECT 1 FROM slot_intent n
 JOIN attempt t ON (t.chain_id,t.signer,t.nonce)=(n.chain_id,n.signer,n.nonce) AND NOT t.is_cancel
 WHERE n.intent_id=i.id AND NOT EXISTS(SELECT 1 FROM dead_slot d WHERE (d.chain_id,d.signer,d.nonce)=(n.chain_id,n.signer,n.nonce))));
-- name: I-19 status completed/refunded without the matching confirmed intent of the main leg
SELECT s.id, s.status FROM swap s WHERE s.status IN('completed','refunded') AND NOT EXISTS(SELECT 1 FROM intent i
 WHERE i.swap_id=s.id AND i.deposit_id IS NULL AND i.state='confirmed' AND i.kind=CASE s.status WHEN 'completed' THEN 'output' ELSE 'refund' END);
-- name: I-20 illegal or broken status history (a sequence without a status change is legal)
SELECT t.swap_id, t.seq, t.from_status, t.to_status FROM swap_transition t LEFT JOIN swap_transition p ON p.swap_id=t.swap_id AND p.seq=t.seq-1
WHERE (t.seq=1)<>(t.from_status IS NULL) OR t.from_status IS DISTINCT FROM p.to_status
OR (t.from_status IS DISTINCT FROM t.to_status AND NOT EXISTS(SELECT 1 FROM allowed_edge e WHERE (e.from_status,e.to_status) IS NOT DISTINCT FROM (t.from_status,t.to_status)));
-- name: I-21 current status is not the last transition
SELECT s.id FROM swap s WHERE s.status IS DISTINCT FROM (SELECT to_status FROM swap_transition t WHERE t.swap_id=s.id ORDER BY seq DESC LIMIT 1);
-- name: I-22 transition without its outbox event (dual write; outbox partitions are dropped after 7 days)
SELECT t.swap_id, t.seq FROM swap_transition t WHERE t.at>now()-interval '6 days' AND NOT EXISTS
 (SELECT 1 FROM outbox o WHERE o.topic='swap.changed.v1' AND o.key=t.swap_id::text AND (o.payload->'body'->>'sequence')::int=t.seq);
-- name: I-23 outbox row older than 60 s not published (liveness)
SELECT id FROM outbox WHERE published_at IS NULL AND created_at<now()-interval '60 s';
-- name: I-24 later event of a swap published while an earlier one is not
SELECT b.id FROM outbox a JOIN outbox b ON a.topic='swap.changed.v1' AND b.topic=a.topic AND b.key=a.key AND b.id>a.id WHERE a.published_at IS NULL AND b.published_at IS NOT NULL;
-- name: I-25 transition with no webhook message for an endpoint that was enabled at that time and wants it (messages are kept for 30 days)
SELECT t.swap_id, t.seq, e.id FROM swap_transition t JOIN swap s ON s.id=t.swap_id JOIN endpoint e ON e.app_id=s.app_id AND e.enabled_from<=t.at AND (e.disabled_at IS NULL OR e.disabled_at>t.at)
WHERE (t.from_status IS DISTINCT FROM t.to_status OR e.wants_updates) AND t.at<now()-interval '60 s' AND t.at>now()-interval '29 days'
AND NOT EXISTS(SELECT 1 FROM webhook_message w WHERE w.endpoint_id=e.id AND w.swap_id=t.swap_id AND w.seq=t.seq);
-- name: I-26 ledger custody differs from the chain at the last finalized block that watcher and ledger have both passed
SELECT b.chain_id, b.address, b.token, b.block_number, b.balance onchain, l.bal ledger FROM (SELECT DISTINCT ON(s.chain_id,s.address,s.token) s.* FROM balance_snapshot s
 JOIN watch_cursor w USING(chain_id) JOIN ledger_cursor c USING(chain_id) WHERE s.block_number<=least(w.finalized_number,c.number) ORDER BY s.chain_id,s.address,s.token,s.block_number DESC) b
CROSS JOIN LATERAL (SELECT coalesce(sum(p.amount),0) bal FROM account a JOIN posting p ON p.account_id=a.id JOIN ltxn t ON t.id=p.txn_id
 WHERE a.kind='custody' AND (a.chain_id,a.address,a.token)=(b.chain_id,b.address,b.token) AND t.eff_block<=b.block_number) l WHERE b.balance<>l.bal;
-- name: I-27 insolvent in an asset: owed more than held (the signers' gas money pays nobody)
SELECT chain_id, token, held, owed FROM (SELECT a.chain_id,a.token,sum(p.amount) FILTER(WHERE a.kind='custody' AND a.holder<>'signer') held,
 -sum(p.amount) FILTER(WHERE a.kind IN('swap_liability','in_flight','refuel_liability','refuel_in_flight','suspense','claimable','partner_fee')) owed
 FROM account a JOIN posting p ON p.account_id=a.id GROUP BY 1,2) q WHERE coalesce(owed,0)>coalesce(held,0);
-- name: I-28 outflow cap exceeded in some window (an intent counts from the moment it got a slot; before that it queues)
SELECT c.chain_id, c.token, c.app_id, c.win, i.slot_at, sum(j.amount) FROM outflow_cap c
JOIN outflow i ON i.cap_id=c.id JOIN outflow j ON j.cap_id=c.id AND j.slot_at<=i.slot_at AND j.slot_at>i.slot_at-c.win
GROUP BY i.intent_id,1,2,3,4,5,c.units HAVING sum(j.amount)>c.units;
-- name: I-29 gasless broadcast after valid_before
SELECT a.id FROM authorization_ a JOIN intent i ON i.swap_id=a.swap_id AND i.kind='gasless' JOIN slot_intent n ON n.intent_id=i.id
JOIN attempt t ON (t.chain_id,t.signer,t.nonce)=(n.chain_id,n.signer,n.nonce) WHERE a.status IN('Published','Completed') AND extract(epoch FROM t.first_sent_at)>=a.valid_before;
-- name: I-30 attempt sent before it was stored, or stored without raw bytes
SELECT tx_hash FROM attempt WHERE first_sent_at<signed_at OR length(raw)=0;
-- name: I-31 an account's running balance is not the sum of its postings
SELECT a.id, a.kind, a.balance, sum(p.amount) FROM account a LEFT JOIN posting p ON p.account_id=a.id
GROUP BY a.id, a.kind, a.balance HAVING a.balance<>coalesce(sum(p.amount),0);
-- name: I-32 inventory differs from the ledger
SELECT i.network, i.token, i.held_base_units, i.owed_base_units, l.held, l.owed FROM settler.inventory i LEFT JOIN (
 SELECT network, token, coalesce(sum(balance) FILTER(WHERE kind='custody' AND holder='treasury'),0) held,
 -coalesce(sum(balance) FILTER(WHERE kind IN('swap_liability','in_flight','refuel_liability','refuel_in_flight','suspense','claimable','partner_fee')),0) owed
 FROM settler.account GROUP BY 1,2) l USING(network,token) WHERE (i.held_base_units,i.owed_base_units) IS DISTINCT FROM (coalesce(l.held,0),coalesce(l.owed,0));
-- name: I-33 an app was paid more than its final swaps earned, or one payment of its fees twice
SELECT q.app_id::text, q.chain_id, q.token, sum(q.earned) earned, sum(q.paid) paid FROM (
 SELECT a.app_id, a.chain_id, a.token, -p.amount earned, 0 paid FROM posting p JOIN account a ON a.id=p.account_id JOIN ltxn t ON t.id=p.txn_id
 WHERE a.kind='partner_fee' AND t.kind='partner_fee_earned'
 UNION ALL SELECT i.app_id, i.chain_id, i.token, 0, i.amount FROM intent i WHERE i.kind='partner_fee' AND i.state<>'dead') q
GROUP BY 1,2,3 HAVING sum(q.paid)>sum(q.earned)
UNION ALL SELECT i.id::text, i.chain_id, i.token, i.amount, count(*)*i.amount FROM intent i JOIN success s ON s.intent_id=i.id WHERE i.kind='partner_fee'
GROUP BY i.id, i.chain_id, i.token, i.amount HAVING count(DISTINCT s.tx_hash)>1 OR count(s.movement_id)>1;
-- name: I-34 a swap's output is final and its app did not earn the quote's partner fee exactly once
SELECT i.swap_id, (s.quote->>'partner_fee_base_units')::numeric quoted, e.earned FROM intent i JOIN settler.swap s ON s.id=i.swap_id
CROSS JOIN LATERAL (SELECT coalesce(-sum(p.amount),0) earned FROM ltxn t JOIN posting p ON p.txn_id=t.id JOIN account a ON a.id=p.account_id
 WHERE t.swap_id=i.swap_id AND t.kind='partner_fee_earned' AND a.kind='partner_fee' AND a.app_id=s.app_id) e
WHERE i.kind='output' AND i.state='confirmed' AND e.earned<>coalesce((s.quote->>'partner_fee_base_units')::numeric,0);
-- name: I-35 a posting whose ledger transaction or account is not there
SELECT p.txn_id, p.n, p.account_id FROM posting p LEFT JOIN ltxn t ON t.id=p.txn_id LEFT JOIN account a ON a.id=p.account_id WHERE t.id IS NULL OR a.id IS NULL;
