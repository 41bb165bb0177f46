// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Depository} from "../../src/Depository.sol";
import {ITreasury} from "../../src/ITreasury.sol";
import {Treasury} from "../../src/Treasury.sol";
import {DevToken} from "../../src/dev/DevToken.sol";
import {Test} from "../Test.sol";

/// @notice Measures what one transaction costs, for script/gas.mjs: run with --isolate, each measured call is a
/// transaction of its own, with its 21000, its call data and nothing warm.
/// @dev The dear but usual case: recipients that never held the asset, a Treasury with inventory, an outflow limit
/// that is partly used, amounts and intent ids without zero bytes to save. No gas is given back in any of them.
contract GasTest is Test {
    address private constant NATIVE = address(0);
    uint256 private constant AMOUNT = 123_456_789;

    address private immutable owner = named("owner");
    address private immutable operator = named("operator");
    address private immutable user = named("user");

    Treasury private treasury;
    Depository private depository;
    DevToken private token;
    uint256 private payments;

    function setUp() external {
        treasury = new Treasury(owner, _one(operator));
        depository = new Depository(owner, _one(address(treasury)));
        token = new DevToken("USD Coin", "USDC", 6, address(treasury), 1e15);
        token.mint(user, 1e15);
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

    function _one(address account) private pure returns (address[] memory list) {
        list = new address[](1);
        list[0] = account;
    }
}
