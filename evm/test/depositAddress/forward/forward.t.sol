// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";

import {DepositAddress} from "../../../src/DepositAddress.sol";
import {IDepositAddress} from "../../../src/IDepositAddress.sol";
import {Refuser} from "../../actors/Receivers.sol";
import {DepositAddressFactoryTest} from "../../depositAddressFactory/DepositAddressFactoryTest.sol";

contract ForwardTest is DepositAddressFactoryTest {
    function testFuzz_RevertWhen_TheCallerIsNotTheFactory(address caller) external {
        _deploy();
        if (caller == address(factory)) caller = outsider;
        token.mint(depositAddress, 100);
        _expectNotFactory(caller);
        vm.prank(caller);
        DepositAddress(depositAddress).forward(address(token), 100);
    }

    function test_RevertWhen_TheImplementationIsCalledByAnotherThanTheFactory() external {
        DepositAddress implementation = DepositAddress(factory.implementation());
        _expectNotFactory(outsider);
        vm.prank(outsider);
        implementation.forward(address(token), 0);
    }

    function test_RevertGiven_ThereIsLessThanTheAmount() external {
        _deploy();
        token.mint(depositAddress, 99);
        vm.expectRevert(abi.encodeWithSelector(IERC20Errors.ERC20InsufficientBalance.selector, depositAddress, 99, 100));
        _forward(depositAddress, address(token), 100);
    }

    function test_RevertGiven_TheTreasuryRefusesNativeValue() external {
        DepositAddress stuck = new DepositAddress(address(new Refuser()));
        vm.deal(address(stuck), 1 ether);
        vm.expectRevert(IDepositAddress.TransferFailed.selector);
        stuck.forward(NATIVE, 1 ether);
    }

    function testFuzz_WhenTheCallerIsTheFactory(uint256 amount, uint256 rest) external {
        _deploy();
        amount = between(amount, 0, type(uint96).max);
        rest = between(rest, 0, type(uint96).max);
        token.mint(depositAddress, amount + rest);
        vm.deal(depositAddress, amount + rest);
        uint256[2] memory inventory = [token.balanceOf(address(treasury)), address(treasury).balance];

        _forward(depositAddress, address(token), amount);
        _forward(depositAddress, NATIVE, amount);

        assertEq(token.balanceOf(address(treasury)), inventory[0] + amount);
        assertEq(address(treasury).balance, inventory[1] + amount);
        assertEq(token.balanceOf(depositAddress), rest);
        assertEq(depositAddress.balance, rest);
    }

    function _forward(address from, address token_, uint256 amount) private {
        vm.prank(address(factory));
        DepositAddress(from).forward(token_, amount);
    }

    function _expectNotFactory(address caller) private {
        vm.expectRevert(abi.encodeWithSelector(IDepositAddress.NotFactory.selector, caller));
    }
}
