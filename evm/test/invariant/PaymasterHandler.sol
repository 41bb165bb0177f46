// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";

import {Depository} from "../../src/Depository.sol";
import {IPaymaster} from "../../src/IPaymaster.sol";
import {Paymaster} from "../../src/Paymaster.sol";
import {DevToken} from "../../src/dev/DevToken.sol";
import {Signer} from "../Signer.sol";
import {WithFiatToken} from "../tokens/FiatToken.sol";
import {PermitFeeToken, StickyToken} from "../tokens/PermitTokens.sol";
import {WrapToken} from "../tokens/WrapToken.sol";

/// @notice Makes deposits that users signed and that they did not sign, and records the results. Some permits were used
/// before by another account, and some allowances exist already.
contract PaymasterHandler is Signer, WithFiatToken {
    uint256 private constant _FUNDS = type(uint96).max;

    address public immutable owner = named("owner");

    Depository public immutable depository;
    Paymaster public immutable paymaster;

    /// @dev The real USDC, an OpenZeppelin token, one that never lowers an allowance, one that takes a fee, and one
    /// that accepts every call.
    address[] public tokens;
    uint256[] private _keys;
    /// @dev The last is never approved.
    address[] public receivers;
    /// @dev The last never becomes an operator.
    address[] public callers;

    mapping(address token => uint256 amount) public sent;
    mapping(address token => uint256 amount) public deposited;
    mapping(bytes32 authorization => uint256 times) public timesUsed;
    mapping(address receiver => bool approved) public approved;
    mapping(address caller => bool isOperator) public isOperator;

    uint256 public deposits;
    bool public paused;
    bool public depositedTwice;
    bool public depositedUnsigned;
    bool public depositedWhilePaused;
    bool public depositedByAnotherThanAnOperator;
    bool public paidUnapproved;
    bool public movedAnotherAmount;
    bool public keptAnAllowance;

    constructor() {
        vm.warp(1_800_000_000);
        callers.push(named("first operator"));
        callers.push(named("second operator"));
        callers.push(named("never an operator"));
        receivers.push(named("first receiver"));
        receivers.push(named("second receiver"));
        receivers.push(named("never a receiver"));
        depository = new Depository(owner, _two(receivers[0], receivers[1]));
        paymaster = new Paymaster(owner, address(depository), _two(callers[0], callers[1]));
        (approved[receivers[0]], approved[receivers[1]]) = (true, true);
        (isOperator[callers[0]], isOperator[callers[1]]) = (true, true);

        tokens.push(address(_newFiatToken()));
        tokens.push(address(new DevToken("Dai", "DAI", 18, address(this), 0)));
        tokens.push(address(new StickyToken()));
        tokens.push(address(new PermitFeeToken()));
        tokens.push(address(new WrapToken()));
        _keys.push(0xA11CE);
        _keys.push(0xB0B);
        for (uint256 i; i < tokens.length; ++i) {
            for (uint256 j; j < _keys.length; ++j) {
                DevToken(tokens[i]).mint(vm.addr(_keys[j]), _FUNDS);
            }
        }
    }

    /* ACTIONS */

    /// @dev In one of four cases the deposit differs from the signed one.
    function depositWithAuthorization(uint256 callerSeed, uint256 seed, bool wallet) external {
        (IPaymaster.Deposit memory deposit, uint256 key) = _pick(seed);
        if (deposit.token != tokens[tokens.length - 1]) deposit.token = tokens[0];
        Signature memory signed = _authorize(key, deposit);
        bool changed = _change(deposit, seed);
        bytes memory data = wallet
            ? abi.encodeCall(IPaymaster.depositWithWalletAuthorization, (deposit, 0, type(uint256).max, _pack(signed)))
            : abi.encodeCall(
                IPaymaster.depositWithAuthorization, (deposit, 0, type(uint256).max, signed.v, signed.r, signed.s)
            );
        if (!_call(callerSeed, deposit, data)) return;
        if (changed) depositedUnsigned = true;
        if (++timesUsed[keccak256(abi.encode(deposit.id, deposit.receiver, deposit.token, key))] > 1) {
            depositedTwice = true;
        }
    }

    /// @dev In one of three cases another account uses the permit before. In one of four the nonce is wrong, or the
    /// amount differs from the signed one.
    function depositWithPermit(uint256 callerSeed, uint256 seed, uint256 front, uint256 wrong) external {
        (IPaymaster.Deposit memory deposit, uint256 key) = _pick(seed);
        if (deposit.token == tokens[tokens.length - 1]) {
            // It accepts the call of `permit`, but no earlier allowance may be used.
            _allow(deposit, deposit.amount);
            if (_call(callerSeed, deposit, _permitCall(deposit, 0, Signature(27, 0, 0)))) depositedUnsigned = true;
            return;
        }
        uint256 nonce = IERC20Permit(deposit.token).nonces(deposit.from);
        Signature memory signed = _signPermit(key, address(paymaster), deposit, nonce);
        if (front % 3 == 0) _use(deposit, signed);
        bool changed = wrong % 4 == 0;
        if (changed && wrong % 8 == 0) ++deposit.amount;
        else if (changed) ++nonce;
        if (_call(callerSeed, deposit, _permitCall(deposit, nonce, signed)) && changed) depositedUnsigned = true;
    }

    /// @dev An approval that users should not give, but may.
    function allow(uint256 seed, uint256 amount) external {
        (IPaymaster.Deposit memory deposit,) = _pick(seed);
        _allow(deposit, amount % 3 == 0 ? type(uint256).max : between(amount, 0, 1000));
    }

    function sendByMistake(uint256 tokenSeed, uint256 amount) external {
        address token = tokens[tokenSeed % tokens.length];
        amount = between(amount, 1, 1000);
        DevToken(token).mint(address(paymaster), amount);
        sent[token] += amount;
    }

    function setReceiver(uint256 seed) external {
        address receiver = receivers[seed % 2];
        approved[receiver] = !approved[receiver];
        vm.prank(owner);
        approved[receiver] ? depository.addToWhitelist(receiver) : depository.removeFromWhitelist(receiver);
    }

    function setOperator(uint256 seed) external {
        address account = callers[seed % 2];
        isOperator[account] = !isOperator[account];
        vm.prank(owner);
        isOperator[account] ? paymaster.addOperator(account) : paymaster.removeOperator(account);
    }

    /// @dev Paused in one of four cases, so that most deposits are made.
    function setPaused(uint256 seed) external {
        bool wanted = seed % 4 == 0;
        if (wanted == paused) return;
        paused = wanted;
        vm.prank(owner);
        wanted ? paymaster.pause() : paymaster.unpause();
    }

    /* READING */

    function tokenCount() external view returns (uint256) {
        return tokens.length;
    }

    function missing(address token) external view returns (uint256) {
        uint256 left;
        for (uint256 i; i < _keys.length; ++i) {
            left += IERC20(token).balanceOf(vm.addr(_keys[i]));
        }
        return _keys.length * _FUNDS - left;
    }

    function received(address token) external view returns (uint256 sum) {
        for (uint256 i; i < receivers.length; ++i) {
            sum += IERC20(token).balanceOf(receivers[i]);
        }
    }

    /* INTERNAL */

    function _pick(uint256 seed) private view returns (IPaymaster.Deposit memory deposit, uint256 key) {
        uint256 random = uint256(keccak256(abi.encode(seed)));
        key = _keys[random % _keys.length];
        uint256 place = (random >> 8) % 8;
        deposit = IPaymaster.Deposit({
            id: bytes32((random >> 16) % 64),
            token: tokens[(random >> 32) % tokens.length],
            receiver: receivers[place == 0 ? 2 : place % 2],
            from: vm.addr(key),
            amount: between(random >> 64, 0, 1000)
        });
    }

    function _authorize(uint256 key, IPaymaster.Deposit memory deposit) private view returns (Signature memory) {
        if (deposit.token != tokens[0]) return Signature(27, 0, 0);
        bytes32 nonce = paymaster.authorizationNonce(deposit.id, deposit.receiver, deposit.token);
        return _signAuthorization(key, address(paymaster), deposit, nonce);
    }

    function _change(IPaymaster.Deposit memory deposit, uint256 seed) private view returns (bool) {
        uint256 kind = uint256(keccak256(abi.encode(seed, "change"))) % 12;
        if (kind == 0) deposit.id = bytes32(uint256(deposit.id) + 1);
        if (kind == 1) deposit.receiver = deposit.receiver == receivers[0] ? receivers[1] : receivers[0];
        if (kind == 2) ++deposit.amount;
        return kind < 3;
    }

    function _permitCall(IPaymaster.Deposit memory deposit, uint256 nonce, Signature memory signed)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeCall(
            IPaymaster.depositWithPermit, (deposit, nonce, type(uint256).max, signed.v, signed.r, signed.s)
        );
    }

    function _use(IPaymaster.Deposit memory deposit, Signature memory signed) private {
        IERC20Permit(deposit.token)
            .permit(deposit.from, address(paymaster), deposit.amount, type(uint256).max, signed.v, signed.r, signed.s);
    }

    function _allow(IPaymaster.Deposit memory deposit, uint256 amount) private {
        vm.prank(deposit.from);
        IERC20(deposit.token).approve(address(paymaster), amount);
    }

    function _call(uint256 callerSeed, IPaymaster.Deposit memory deposit, bytes memory data) private returns (bool) {
        address caller = callers[callerSeed % callers.length];
        uint256 fromBefore = IERC20(deposit.token).balanceOf(deposit.from);
        uint256 receiverBefore = IERC20(deposit.token).balanceOf(deposit.receiver);
        vm.prank(caller);
        // A token that accepts every call burns all its gas in a static call.
        (bool succeeded,) = address(paymaster).call{gas: 1_000_000}(data);
        uint256 moved = succeeded ? deposit.amount : 0;
        if (
            IERC20(deposit.token).balanceOf(deposit.from) != fromBefore - moved
                || IERC20(deposit.token).balanceOf(deposit.receiver) != receiverBefore + moved
        ) movedAnotherAmount = true;
        if (IERC20(deposit.token).allowance(address(paymaster), address(depository)) != 0) keptAnAllowance = true;
        if (!succeeded) return false;

        ++deposits;
        deposited[deposit.token] += deposit.amount;
        if (paused) depositedWhilePaused = true;
        if (!isOperator[caller]) depositedByAnotherThanAnOperator = true;
        if (!approved[deposit.receiver]) paidUnapproved = true;
        return true;
    }

    function _two(address first, address second) private pure returns (address[] memory list) {
        list = new address[](2);
        (list[0], list[1]) = (first, second);
    }
}
