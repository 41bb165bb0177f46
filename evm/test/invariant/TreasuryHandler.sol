// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITreasury} from "../../src/ITreasury.sol";
import {Treasury} from "../../src/Treasury.sol";
import {DevToken} from "../../src/dev/DevToken.sol";
import {Vm} from "../Vm.sol";
import {Refuser} from "../actors/Receivers.sol";
import {Reenterer} from "../actors/Reenterer.sol";
import {HookToken} from "../tokens/HookToken.sol";
import {Handler} from "./Handler.sol";

/// @notice Pays repeatedly from a small pool of intents while limits, operators, pause and time change.
contract TreasuryHandler is Handler {
    struct Outflow {
        uint256 time;
        uint256 amount;
    }

    uint256 private constant _INTENTS = 256;

    address public immutable owner = named("owner");
    address private immutable _depositor = named("depositor");

    Treasury public immutable treasury;

    /// @dev The first is the native token; the last never gets a limit.
    address[] public tokens;
    /// @dev The last but one calls back and is an operator; the last refuses native value.
    address[] public recipients;
    /// @dev The last never becomes an operator.
    address[] public operators;

    mapping(uint256 intentId => uint256 times) public timesPaid;
    mapping(address token => mapping(address recipient => uint256 amount)) public paid;
    mapping(address token => uint256 amount) public spent;
    mapping(address token => uint256 amount) public withdrawn;
    mapping(address token => uint256 amount) public funded;
    /// @dev Since the limit was last set.
    mapping(address token => Outflow[] outflows) private _outflows;
    mapping(address account => bool isOperator) public isOperator;

    uint256 public nativeReceived;
    uint256 public payments;
    uint256 public refusals;
    bool public paused;
    bool public paidByAnotherThanAnOperator;
    bool public paidWhilePaused;
    bool public paidOnlyPartOfABatch;
    bool public exceededLimit;

    constructor() {
        vm.warp(1_800_000_000);
        Reenterer reenterer = new Reenterer();
        operators.push(named("first operator"));
        operators.push(named("second operator"));
        operators.push(named("never an operator"));

        address[] memory initial = new address[](2);
        (initial[0], initial[1]) = (operators[0], address(reenterer));
        treasury = new Treasury(owner, initial);
        isOperator[operators[0]] = true;

        HookToken hooked = new HookToken();
        HookToken withoutLimitSet = new HookToken();
        tokens.push(address(0));
        tokens.push(address(new DevToken("USD Coin", "USDC", 6, address(treasury), 0)));
        tokens.push(address(hooked));
        tokens.push(address(withoutLimitSet));
        for (uint256 i; i < tokens.length; ++i) {
            funded[tokens[i]] = type(uint96).max;
            if (i != 0) DevToken(tokens[i]).mint(address(treasury), type(uint96).max);
        }
        vm.deal(address(treasury), type(uint96).max);
        vm.deal(_depositor, type(uint128).max);

        recipients.push(named("first recipient"));
        recipients.push(named("second recipient"));
        recipients.push(address(reenterer));
        recipients.push(address(new Refuser()));
        reenterer.plan(address(treasury), abi.encodeCall(ITreasury.pay, (_intentId(0), tokens[1], recipients[0], 1)), 0);
        hooked.setHook(address(reenterer), reenterer);

        setLimit(0, 1000, 60);
        setLimit(1, 1000, 60);
        setLimit(2, 1000, 60);
    }

    /* ACTIONS */

    function pay(uint256 callerSeed, uint256 seed) external {
        ITreasury.Payment memory payment = _payment(seed);
        _call(
            callerSeed, 1, abi.encodeCall(ITreasury.pay, (payment.intentId, payment.token, payment.to, payment.amount))
        );
    }

    function payBatch(uint256 callerSeed, uint256 seed) external {
        uint256 length = between(seed, 0, 5);
        ITreasury.Payment[] memory batch = new ITreasury.Payment[](length);
        for (uint256 i; i < length; ++i) {
            batch[i] = _payment(uint256(keccak256(abi.encode(seed, i))));
        }
        _call(callerSeed, length, abi.encodeCall(ITreasury.payBatch, (batch)));
    }

    function wait(uint256 time) external {
        vm.warp(block.timestamp + between(time, 1, 90));
    }

    function setLimit(uint256 tokenSeed, uint256 limit, uint256 window) public {
        address token = tokens[tokenSeed % (tokens.length - 1)];
        delete _outflows[token];
        limit = limit % 10 == 0 ? type(uint256).max : between(limit, 0, 2000);
        vm.prank(owner);
        treasury.setOutflowLimit(token, limit, uint64(between(window, 1, 120)));
    }

    function withdraw(uint256 tokenSeed, uint256 recipientSeed, uint256 amount) external {
        address token = tokens[tokenSeed % tokens.length];
        address to = recipients[recipientSeed % recipients.length];
        amount = between(amount, 0, 1000);
        vm.prank(owner);
        try treasury.withdraw(token, to, amount) {
            withdrawn[token] += amount;
            paid[token][to] += amount;
        } catch {}
    }

    function depositNative(uint256 amount, bytes calldata memo) external {
        amount = between(amount, 0, 1 ether);
        (bool succeeded, Vm.Log[] memory logs) = _attempt(_depositor, address(treasury), amount, memo);
        if (!succeeded || logs.length == 0 || logs[0].topics[0] != ITreasury.NativeReceived.selector) return;
        (uint256 received,) = abi.decode(logs[0].data, (uint256, bytes));
        nativeReceived += received;
    }

    function setOperator(uint256 seed) external {
        address account = operators[seed % 2];
        isOperator[account] = !isOperator[account];
        vm.prank(owner);
        isOperator[account] ? treasury.addOperator(account) : treasury.removeOperator(account);
    }

    /// @dev Paused in one of four cases, so that most payments are made.
    function setPaused(uint256 seed) external {
        bool wanted = seed % 4 == 0;
        if (wanted == paused) return;
        paused = wanted;
        vm.prank(owner);
        wanted ? treasury.pause() : treasury.unpause();
    }

    /* READING */

    function tokenCount() external view returns (uint256) {
        return tokens.length;
    }

    function recipientCount() external view returns (uint256) {
        return recipients.length;
    }

    function intentCount() external pure returns (uint256) {
        return _INTENTS;
    }

    function intentIdAt(uint256 index) external pure returns (uint256) {
        return _intentId(index);
    }

    function balanceOf(address token, address account) external view returns (uint256) {
        return token == address(0) ? account.balance : DevToken(token).balanceOf(account);
    }

    /* INTERNAL */

    function _call(uint256 callerSeed, uint256 length, bytes memory data) private {
        address caller = operators[_mostlyAmong(operators.length, callerSeed)];
        (bool succeeded, Vm.Log[] memory logs) = _attempt(caller, address(treasury), 0, data);
        if (!succeeded) {
            ++refusals;
            return;
        }
        if (paused) paidWhilePaused = true;
        if (!isOperator[caller]) paidByAnotherThanAnOperator = true;
        if (logs.length != length) paidOnlyPartOfABatch = true;
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].topics[0] == ITreasury.Paid.selector) _note(logs[i]);
        }
    }

    function _note(Vm.Log memory log) private {
        address token = _address(log.topics[2]);
        uint256 amount = abi.decode(log.data, (uint256));
        ++payments;
        ++timesPaid[uint256(log.topics[1])];
        paid[token][_address(log.topics[3])] += amount;
        spent[token] += amount;
        _outflows[token].push(Outflow({time: block.timestamp, amount: amount}));
        if (_exceedsLimit(token)) exceededLimit = true;
    }

    /// @dev Whether the payments since any earlier one add up to more than the limit allows for that span.
    function _exceedsLimit(address token) private view returns (bool) {
        (uint256 limit, uint64 window) = treasury.outflowLimit(token);
        if (limit == type(uint256).max) return false;
        Outflow[] storage outflows = _outflows[token];
        uint256 sum;
        for (uint256 i = outflows.length; i > 0; --i) {
            Outflow memory outflow = outflows[i - 1];
            sum += outflow.amount;
            uint256 refilled = window == 0 ? 0 : limit * (block.timestamp - outflow.time) / window;
            if (sum > limit + refilled) return true;
        }
        return false;
    }

    function _payment(uint256 seed) private view returns (ITreasury.Payment memory) {
        return ITreasury.Payment({
            intentId: _intentId(seed % _INTENTS),
            token: tokens[_mostlyAmong(tokens.length, seed >> 16)],
            to: recipients[_mostlyAmong(recipients.length, seed >> 32)],
            amount: between(seed >> 64, 0, 200)
        });
    }

    /// @dev The last is refused or never allowed. It is chosen once in sixteen times; otherwise few batches would
    /// succeed.
    function _mostlyAmong(uint256 length, uint256 seed) private pure returns (uint256) {
        return seed % 16 == 0 ? length - 1 : (seed >> 4) % (length - 1);
    }

    function _intentId(uint256 index) private pure returns (uint256) {
        return uint256(keccak256(abi.encode("intent", index)));
    }
}
