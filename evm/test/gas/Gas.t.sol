// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DepositAddressFactory} from "../../src/DepositAddressFactory.sol";
import {Depository} from "../../src/Depository.sol";
import {IDepositAddressFactory} from "../../src/IDepositAddressFactory.sol";
import {IPaymaster} from "../../src/IPaymaster.sol";
import {ITreasury} from "../../src/ITreasury.sol";
import {Paymaster} from "../../src/Paymaster.sol";
import {Treasury} from "../../src/Treasury.sol";
import {DevToken} from "../../src/dev/DevToken.sol";
import {Signer} from "../Signer.sol";
import {IFiatToken, WithFiatToken} from "../tokens/FiatToken.sol";

/// @notice Measures the gas of one transaction for script/gas.mjs. With --isolate, each measured call is a separate
/// transaction, with its 21000, its call data and no warm storage.
/// @dev Measures the most expensive usual case: recipients that never held the asset, a Treasury with inventory, a
/// partly used outflow limit, amounts and intent ids without zero bytes. No gas is refunded in any of them. Gasless
/// deposits use the real USDC and a user who never signed before.
contract GasTest is Signer, WithFiatToken {
    address private constant NATIVE = address(0);
    uint256 private constant AMOUNT = 123_456_789;
    uint256 private constant KEY = 0xA11CE;

    address private immutable owner = named("owner");
    address private immutable operator = named("operator");
    address private immutable user = named("user");

    Treasury private treasury;
    Depository private depository;
    DepositAddressFactory private factory;
    Paymaster private paymaster;
    DevToken private token;
    IFiatToken private usdc;
    uint256 private payments;
    uint256 private salts;

    function setUp() external {
        treasury = new Treasury(owner, _one(operator));
        depository = new Depository(owner, _one(address(treasury)));
        factory = new DepositAddressFactory(address(treasury));
        paymaster = new Paymaster(owner, address(depository), _one(operator));
        token = new DevToken("USD Coin", "USDC", 6, address(treasury), 1e15);
        token.mint(user, 1e15);
        usdc = _newFiatToken();
        usdc.mint(address(treasury), 1e15);
        usdc.mint(vm.addr(KEY), 1e15);
        vm.deal(address(treasury), 1000 ether);
        vm.deal(operator, 1000 ether);
        vm.deal(user, 1000 ether);
        vm.warp(1_800_000_000);

        vm.prank(owner);
        treasury.setOutflowLimit(address(token), 1e15, 1 days);
        vm.prank(owner);
        treasury.setOutflowLimit(NATIVE, 1e24, 1 days);
        vm.prank(user);
        token.approve(address(depository), 1e15);

        _pay(address(token));
        _pay(NATIVE);
        vm.warp(block.timestamp + 12);
    }

    function test_payErc20() external {
        _pay(address(token));
        vm.snapshotGasLastCall("payErc20");
    }

    function test_payNative() external {
        _pay(NATIVE);
        vm.snapshotGasLastCall("payNative");
    }

    function test_payBatchErc20() external {
        _payBatch(address(token), 1);
        vm.snapshotGasLastCall("payBatchErc20Of1");
        _payBatch(address(token), 50);
        vm.snapshotGasLastCall("payBatchErc20Of50");
        _payBatch(address(token), 100);
        vm.snapshotGasLastCall("payBatchErc20Of100");
    }

    function test_payBatchNative() external {
        _payBatch(NATIVE, 1);
        vm.snapshotGasLastCall("payBatchNativeOf1");
        _payBatch(NATIVE, 50);
        vm.snapshotGasLastCall("payBatchNativeOf50");
        _payBatch(NATIVE, 100);
        vm.snapshotGasLastCall("payBatchNativeOf100");
    }

    function test_depositNative() external {
        vm.prank(user);
        depository.depositNative{value: AMOUNT}(_id(), address(treasury));
        vm.snapshotGasLastCall("depositNative");
    }

    function test_depositERC20() external {
        vm.prank(user);
        depository.depositERC20(_id(), address(token), address(treasury), AMOUNT);
        vm.snapshotGasLastCall("depositERC20");
    }

    function test_directNative() external {
        vm.prank(user);
        (bool sent,) = address(treasury).call{value: AMOUNT}(_memo());
        assert(sent);
        vm.snapshotGasLastCall("directNative");
    }

    function test_directErc20() external {
        bytes memory call = abi.encodePacked(abi.encodeCall(token.transfer, (address(treasury), AMOUNT)), _memo());
        vm.prank(user);
        (bool sent,) = address(token).call(call);
        assert(sent);
        vm.snapshotGasLastCall("directErc20");
    }

    function test_depositWithAuthorization() external {
        IPaymaster.Deposit memory deposit = _deposit();
        Signature memory signed = _authorize(deposit);
        vm.prank(operator);
        paymaster.depositWithAuthorization(deposit, 0, type(uint256).max, signed.v, signed.r, signed.s);
        vm.snapshotGasLastCall("depositWithAuthorization");
    }

    function test_depositWithWalletAuthorization() external {
        IPaymaster.Deposit memory deposit = _deposit();
        bytes memory signature = _pack(_authorize(deposit));
        vm.prank(operator);
        paymaster.depositWithWalletAuthorization(deposit, 0, type(uint256).max, signature);
        vm.snapshotGasLastCall("depositWithWalletAuthorization");
    }

    function test_depositWithPermit() external {
        IPaymaster.Deposit memory deposit = _deposit();
        Signature memory signed = _signPermit(KEY, address(paymaster), deposit, 0);
        vm.prank(operator);
        paymaster.depositWithPermit(deposit, 0, type(uint256).max, signed.v, signed.r, signed.s);
        vm.snapshotGasLastCall("depositWithPermit");
    }

    function test_sweepErc20() external {
        _sweep(_newAddresses(1), address(token));
        vm.snapshotGasLastCall("sweepErc20Of1");
        _sweep(_newAddresses(50), address(token));
        vm.snapshotGasLastCall("sweepErc20Of50");
        _sweep(_newAddresses(100), address(token));
        vm.snapshotGasLastCall("sweepErc20Of100");
    }

    function test_sweepNative() external {
        _sweep(_newAddresses(1), NATIVE);
        vm.snapshotGasLastCall("sweepNativeOf1");
        _sweep(_newAddresses(50), NATIVE);
        vm.snapshotGasLastCall("sweepNativeOf50");
        _sweep(_newAddresses(100), NATIVE);
        vm.snapshotGasLastCall("sweepNativeOf100");
    }

    function test_sweepErc20Again() external {
        IDepositAddressFactory.Sweep[] memory deployed = _newAddresses(100);
        _sweep(deployed, address(token));
        _sweep(_first(deployed, 1), address(token));
        vm.snapshotGasLastCall("sweepErc20AgainOf1");
        _sweep(_first(deployed, 50), address(token));
        vm.snapshotGasLastCall("sweepErc20AgainOf50");
        _sweep(deployed, address(token));
        vm.snapshotGasLastCall("sweepErc20AgainOf100");
    }

    function test_sweepNativeAgain() external {
        IDepositAddressFactory.Sweep[] memory deployed = _newAddresses(100);
        _sweep(deployed, NATIVE);
        _sweep(_first(deployed, 1), NATIVE);
        vm.snapshotGasLastCall("sweepNativeAgainOf1");
        _sweep(_first(deployed, 50), NATIVE);
        vm.snapshotGasLastCall("sweepNativeAgainOf50");
        _sweep(deployed, NATIVE);
        vm.snapshotGasLastCall("sweepNativeAgainOf100");
    }

    function _deposit() private view returns (IPaymaster.Deposit memory) {
        return IPaymaster.Deposit({
            id: _id(), token: address(usdc), receiver: address(treasury), from: vm.addr(KEY), amount: AMOUNT
        });
    }

    function _authorize(IPaymaster.Deposit memory deposit) private view returns (Signature memory) {
        bytes32 nonce = paymaster.authorizationNonce(deposit.id, deposit.receiver, deposit.token);
        return _signAuthorization(KEY, address(paymaster), deposit, nonce);
    }

    /// @dev Funds each address and sweeps it.
    function _sweep(IDepositAddressFactory.Sweep[] memory sweeps, address token_) private {
        for (uint256 i; i < sweeps.length; ++i) {
            sweeps[i].token = token_;
            address depositAddress = factory.addressOf(sweeps[i].salt);
            if (token_ == NATIVE) vm.deal(depositAddress, AMOUNT);
            else token.mint(depositAddress, AMOUNT);
        }
        vm.prank(operator);
        factory.sweep(sweeps);
    }

    function _newAddresses(uint256 length) private returns (IDepositAddressFactory.Sweep[] memory sweeps) {
        sweeps = new IDepositAddressFactory.Sweep[](length);
        for (uint256 i; i < length; ++i) {
            sweeps[i].salt = bytes32(uint256(_id()) - ++salts);
        }
    }

    function _first(IDepositAddressFactory.Sweep[] memory sweeps, uint256 length)
        private
        pure
        returns (IDepositAddressFactory.Sweep[] memory first)
    {
        first = new IDepositAddressFactory.Sweep[](length);
        for (uint256 i; i < length; ++i) {
            first[i] = sweeps[i];
        }
    }

    function _pay(address token_) private {
        ITreasury.Payment memory payment = _payment(token_);
        vm.prank(operator);
        treasury.pay(payment.intentId, payment.token, payment.to, payment.amount);
    }

    function _payBatch(address token_, uint256 length) private {
        ITreasury.Payment[] memory batch = new ITreasury.Payment[](length);
        for (uint256 i; i < length; ++i) {
            batch[i] = _payment(token_);
        }
        vm.prank(operator);
        treasury.payBatch(batch);
    }

    function _payment(address token_) private returns (ITreasury.Payment memory) {
        uint256 random = uint256(keccak256(abi.encode(++payments)));
        return ITreasury.Payment({intentId: random, token: token_, to: address(uint160(random >> 96)), amount: AMOUNT});
    }

    function _id() private pure returns (bytes32) {
        return bytes32(uint256(type(uint48).max) - 7);
    }

    function _memo() private pure returns (bytes memory) {
        return abi.encodePacked("SWAP", bytes28(uint224(uint256(_id()))));
    }

    function _one(address account) private pure returns (address[] memory list) {
        list = new address[](1);
        list[0] = account;
    }
}
